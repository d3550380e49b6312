package remote

import (
	"bytes"
	"encoding/json"
	"testing"
)

func read(text string) (map[string]string, error) {
	all := map[string]string{}
	return all, members([]byte(text), func(name string, value []byte) error {
		all[name] = string(value)
		return nil
	})
}

func TestAnEnvelopeIsTakenApart(t *testing.T) {
	got, err := read(" {\"id\" : \"a\\\"}\" ,\"r\\u0065sult\":{\"x\":[1,{\"y\":\"]}\"}],\"z\":\"\\\\\"}\n,\"n\":null,\"five\":-5e3 } \n")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"id": `"a\"}"`, "result": `{"x":[1,{"y":"]}"}],"z":"\\"}`, "n": "null", "five": "-5e3"} {
		if got[name] != want {
			t.Errorf("%s is %s, want %s", name, got[name], want)
		}
	}
	if got, err := read("{}"); err != nil || len(got) != 0 {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range []string{
		"", "[]", "null", `{`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{,"a":1}`, `{"a":1 "b":2}`, `{"a":1}}`, `{"a":1} x`, `{"a":"b}`, `{"a":[1}`[:7], `{a:1}`,
		`{"a":1,"a":2}`, "{\"a\":1,\"\\u0061\":2}",
	} {
		if got, err := read(bad); err == nil {
			t.Errorf("%s is taken for %v", bad, got)
		}
	}
}

// What is taken apart into values that are JSON was JSON, with the same members; and what
// is an object of JSON without a name that is there twice is taken apart.
func FuzzEnvelope(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":"1","result":{"message":{"parts":[{"text":"}\""}]}}}`, `{"error":{"code":-32603,"message":"no"},"id":null}`, "{\"a\":1,\"\\ud800\":[[]]}", `{"a":tr"ue}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var theirs map[string]json.RawMessage
		valid := json.Unmarshal(text, &theirs) == nil && theirs != nil
		mine, sound := map[string][]byte{}, true
		err := members(text, func(name string, value []byte) error {
			mine[name], sound = value, sound && json.Valid(value)
			return nil
		})
		if err == nil && sound && (!valid || len(mine) != len(theirs)) {
			t.Fatalf("%q is taken for %d members of JSON", text, len(mine))
		}
		if err == nil && sound {
			for name, value := range theirs {
				if !bytes.Equal(bytes.TrimSpace(value), mine[name]) {
					t.Errorf("%q: %q is %q, want %q", text, name, mine[name], value)
				}
			}
		}
	})
}
