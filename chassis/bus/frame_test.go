package bus

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
)

// documented is the frame of KALKI's documentation.
const documented = `{
  "trace_id": "tr-908124a-771c",
  "parent_agent": "PlannerAgent",
  "target_agent": "ResearchAgent",
  "message_type": "DELEGATE_SUBTASK",
  "payload": {
    "subtask_id": "st-001",
    "instruction": "Fetch market trend data for AI chips from internal RAG database",
    "required_context": {"filters": {"year": 2026}},
    "timeout_ms": 3000
  },
  "timestamp_utc": "2026-07-21T20:39:00Z"
}`

func TestDocumentedFrameIsADelegation(t *testing.T) {
	f, err := decode("", []byte(documented))
	if err != nil {
		t.Fatal(err)
	}
	if err := check("research", f); err != nil {
		t.Fatal(err)
	}
	year := f.GetPayload().GetRequiredContext().GetFields()["filters"].GetStructValue().GetFields()["year"].GetNumberValue()
	if f.GetPayload().GetTimeoutMs() != 3000 || year != 2026 || name(f.GetParentAgent()) != "planner" {
		t.Fatalf("%v", f)
	}
}

func TestWrongFramesAreToldWhatIsWrong(t *testing.T) {
	for name, c := range map[string]struct{ contentType, old, new, want string }{
		"not JSON":           {JSON, documented, "delegate!", "not JSON of a KALKI frame"},
		"unknown encoding":   {"text/yaml", "", "", `Content-Type "text/yaml" is not known`},
		"not Protobuf":       {Protobuf, "", "", "not a Protobuf"},
		"another type":       {JSON, "DELEGATE_SUBTASK", "SUBTASK_RESULT", `message_type is "SUBTASK_RESULT"`},
		"another agent":      {JSON, "ResearchAgent", "MemoryAgent", `target_agent is "MemoryAgent"`},
		"no parent":          {JSON, "PlannerAgent", "", "parent_agent is missing"},
		"a parent with dots": {JSON, "PlannerAgent", "a.b", "parent_agent is missing"},
		"no subtask":         {JSON, "st-001", "", "payload.subtask_id is missing"},
		"negative time":      {JSON, "3000", "-1", "payload.timeout_ms must not be negative"},
		"no time stamp":      {JSON, "2026-07-21T20:39:00Z", "yesterday", "timestamp_utc"},
		"nothing to do": {
			JSON, `"instruction": "Fetch market trend data for AI chips from internal RAG database",
    "required_context": {"filters": {"year": 2026}},`, "", "payload.instruction is missing",
		},
	} {
		t.Run(name, func(t *testing.T) {
			raw := documented
			if c.old != "" {
				raw = strings.Replace(raw, c.old, c.new, 1)
			}
			f, err := decode(c.contentType, []byte(raw))
			if err == nil {
				err = check("research", f)
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("%v, want %q", err, c.want)
			}
		})
	}
}

func TestAnyTraceIDBecomesOneOfW3C(t *testing.T) {
	for id, want := range map[string]string{
		"4BF92F3577B34DA6A3CE929D0E0E4736": "4bf92f3577b34da6a3ce929d0e0e4736",
		"tr-908124a-771c":                  traceID("tr-908124a-771c"),
		"00000000000000000000000000000000": traceID("00000000000000000000000000000000"),
		"":                                 traceID(""),
	} {
		got := traceID(id)
		if got != want || len(got) != 32 || strings.Trim(got, "0") == "" || strings.Trim(got, "0123456789abcdef") != "" {
			t.Errorf("%q became %q", id, got)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(true, []byte(documented))
	f.Add(true, []byte(`{"payload":{"required_context":null}}`))
	known, err := decode(JSON, []byte(documented))
	if err != nil {
		f.Fatal(err)
	}
	binary, err := proto.Marshal(known)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(false, binary)
	f.Fuzz(func(t *testing.T, text bool, raw []byte) {
		contentType := Protobuf
		if text {
			contentType = JSON
		}
		frame, err := decode(contentType, raw)
		if err != nil {
			if err.Error() == "" {
				t.Fatal("an error that says nothing")
			}
			return
		}
		_ = check("research", frame)
		written, err := encode(contentType, frame)
		if err != nil {
			return // a number that JSON cannot hold came over Protobuf
		}
		again, err := decode(contentType, written)
		if err != nil {
			t.Fatalf("%q was written as %q, which is not read: %v", raw, written, err)
		}
		if text && !proto.Equal(frame, again) {
			t.Fatalf("%v came back as %v", frame, again)
		}
	})
}
