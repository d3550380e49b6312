package a2aagent

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/services/review/internal/item"
)

const sound = `{"kind":"action","title":"Send it","content":{"to":"x"},"effect":"It is sent.","risk":"high","product":"mail"}`

func message(tb testing.TB, data string) *a2apb.Message {
	tb.Helper()
	v := &structpb.Value{}
	if err := protojson.Unmarshal([]byte(data), v); err != nil {
		tb.Fatal(err)
	}
	return &a2apb.Message{Parts: []*a2apb.Part{{Content: &a2apb.Part_Data{Data: v}}}}
}

func TestARequestIsReadStrictly(t *testing.T) {
	with := func(field, value string) string {
		var all map[string]json.RawMessage
		if err := json.Unmarshal([]byte(sound), &all); err != nil {
			t.Fatal(err)
		}
		all[field] = json.RawMessage(value)
		if value == "" {
			delete(all, field)
		}
		raw, err := json.Marshal(all)
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	for _, c := range []struct{ name, data, want string }{
		{"sound", sound, ""},
		{"without a risk", with("risk", ""), ""},
		{"a null schema", with("schema", "null"), ""},
		{"content of any type", with("content", "7"), ""},
		{"content that is null", with("content", "null"), ""},
		{"an unknown field", with("colour", `"blue"`), `message.parts[0].data: has the unknown field "colour"`},
		{"another kind", with("kind", `"wish"`), "message.parts[0].data.kind: must be one of result, action and confirmation"},
		{"another risk", with("risk", `"huge"`), "message.parts[0].data.risk: must be one of low, medium and high"},
		{"no title", with("title", `" \n "`), "message.parts[0].data.title: is missing; say in a line what is decided on"},
		{"no content", with("content", ""), "message.parts[0].data.content: is missing; it is what is decided on"},
		{"an action without effect", with("effect", ""), "message.parts[0].data.effect: is missing; say what approval will do"},
		{"a confidence above 1", with("confidence", "1.1"), "message.parts[0].data.confidence: must be from 0 to 1"},
		{"a plan that is a list", with("plan", "[]"), "message.parts[0].data.plan: must be an object"},
		{"a schema that is none", with("schema", `{"type":"thing"}`), "message.parts[0].data.schema: is no JSON Schema that can be used:"},
		{"a control character", with("step", `"a\u0000b"`), "message.parts[0].data.step: must have at most"},
		{"too much", with("request", `"`+strings.Repeat("a", item.MaxSnapshot)+`"`), "what is to be reviewed has"},
	} {
		s, err := read(message(t, c.data))
		got := ""
		if err != nil {
			got = err.Error()
		}
		if (c.want == "") != (err == nil) || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		if c.name == "without a risk" && s.Risk != "medium" {
			t.Errorf("without a risk it is %s", s.Risk)
		}
	}
	if _, err := read(&a2apb.Message{Parts: []*a2apb.Part{{Content: &a2apb.Part_Text{Text: "please"}}}}); err == nil || !strings.Contains(err.Error(), "has no data part") {
		t.Errorf("a text alone: %v", err)
	}
	s, err := read(message(t, with("title", `"`+strings.Repeat("ä", 200)+`"`)))
	if err != nil || len(s.Title) > item.MaxTitle || !strings.HasSuffix(s.Title, "ä…") {
		t.Errorf("a long title: %q %v", s.Title, err)
	}
}

func FuzzRequest(f *testing.F) {
	f.Add(sound)
	f.Add(`{"kind":"result","title":"t","content":[1,{"a":null}],"schema":{"type":"array"},"sources":[{"text":"x"}],"confidence":0.1,"labels":{},"plan":{}}`)
	f.Fuzz(func(t *testing.T, data string) {
		v := &structpb.Value{}
		if protojson.Unmarshal([]byte(data), v) != nil {
			return
		}
		s, err := read(&a2apb.Message{Parts: []*a2apb.Part{{Content: &a2apb.Part_Data{Data: v}}}})
		if err != nil {
			return
		}
		body, digest, err := s.Encode()
		if err != nil {
			t.Fatalf("what was read cannot be stored: %v", err)
		}
		var again item.Snapshot
		if err := json.Unmarshal(body, &again); err != nil {
			t.Fatalf("what is stored cannot be read: %v", err)
		}
		if _, d, err := again.Encode(); err != nil || d != digest {
			t.Fatalf("what is stored has another digest: %s, %s, %v", digest, d, err)
		}
	})
}
