package binding

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"sabha.dev/chassis/fault"
)

// FuzzParseRequest compares the request reader with the standard decoder, which
// knows nothing of the members' order, spacing and escapes either.
func FuzzParseRequest(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"t1"}}`,
		` { "params" : [ { "a" : "}\"" } ] , "id" : "x\\" , "method" : "M" , "jsonrpc" : "2.0" } `,
		`{"\u0069d":-1.5e3,"jsonrpc":"2.0","method":"\u004d","x":true,"y":[[],{}]}`,
		`{"id":1,"id":2,"jsonrpc":"2.0","method":"M"}`,
		`{"id":null,"jsonrpc":"2.0","method":"M","params":null}`,
		`[]`, `{}`, `null`, `"`, `{"a":`, `{"id":{}}`, `{"method":"a","id":false}`, "{\"\":0,\"id\":0\n}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got, fault := parseRequest(text)
		if !json.Valid(got.id) {
			t.Fatalf("id %q cannot be sent back", got.id)
		}
		if depth(text) < 0 {
			t.Fatalf("depth %d", depth(text))
		}
		if fault != nil {
			if !json.Valid(text) != (fault.code == codeParse) {
				t.Fatalf("fault %d for %q", fault.code, text)
			}
			return
		}
		var want map[string]json.RawMessage
		if err := json.Unmarshal(text, &want); err != nil {
			t.Fatalf("taken, but %v", err)
		}
		var method string
		if err := json.Unmarshal(want["method"], &method); err != nil || method != got.method {
			t.Fatalf("method %q, want %q (%v)", got.method, method, err)
		}
		if !bytes.Equal(got.id, want["id"]) || !bytes.Equal(got.params, want["params"]) || string(want["jsonrpc"]) != `"2.0"` {
			t.Fatalf("id %q params %q, want %q %q", got.id, got.params, want["id"], want["params"])
		}
	})
}

func TestDepth(t *testing.T) {
	for text, want := range map[string]int{
		``: 0, `1`: 0, `{}`: 1, `[[{"a":[]}]]`: 4, `["[[[",{"]":"\"["}]`: 2, `"\\"[[`: 2, `"[`: 0, strings.Repeat("[", 1000): 1000,
	} {
		if got := depth([]byte(text)); got != want {
			t.Errorf("depth of %.20q is %d, want %d", text, got, want)
		}
	}
}

// FuzzDecode holds the decoder of parameters to the lenient one of the protobuf
// library: it takes nothing more, and what both take is the same message.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		``, `null`, `{}`, `[]`, `{"message":{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"a"},{"data":{"x":[1,null]}}]}}`,
		`{"later":1,"message":{"role":"user"}}`, `{"message":{"role":2}}`, `{"configuration":{"historyLength":-1,"returnImmediately":true}}`,
		`{"metadata":{"a":{"b":[{}]}}}`, `{"message":{"messageId":5}}`, `{"message":{"parts":[{"raw":"AA=="}]}} x`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var got, want a2apb.SendMessageRequest
		err := decode("params", text, &got)
		trimmed := bytes.TrimSpace(text)
		if len(trimmed) == 0 || string(trimmed) == "null" {
			if err != nil || !proto.Equal(&got, &want) {
				t.Fatalf("%q: %v %v, want the empty message", text, err, &got)
			}
			return
		}
		lenient := protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(text, &want)
		switch {
		case err == nil && lenient != nil:
			t.Fatalf("%q was taken, but: %v", text, lenient)
		case err == nil && !proto.Equal(&got, &want):
			t.Fatalf("%q is %v, want %v", text, &got, &want)
		case err != nil && !fault.Is(err, fault.InvalidArgument):
			t.Fatalf("%q: %v is no error for clients", text, err)
		}
	})
}
