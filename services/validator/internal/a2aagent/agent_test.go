package a2aagent

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/fault"
	"sabha.dev/testrig/clocktest"

	"sabha.dev/services/validator/internal/judgement"
)

func skill(t *testing.T, id string) agent.Skill {
	t.Helper()
	judge, err := judgement.NewJudge(judgement.DefaultPolicy(), clocktest.New(time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range New(judge, "test").Skills {
		if s.ID == id {
			return s
		}
	}
	t.Fatalf("no skill %s", id)
	return agent.Skill{}
}

func message(t *testing.T, data string) *a2apb.Message {
	t.Helper()
	v := &structpb.Value{}
	if err := protojson.Unmarshal([]byte(data), v); err != nil {
		t.Fatal(err)
	}
	return &a2apb.Message{Parts: []*a2apb.Part{agent.Text("please judge"), {Content: &a2apb.Part_Data{Data: v}}}}
}

const (
	sound = `{"answer":"The transfer fee is 5 EUR [1].","passages":[{"id":"p1","document":"fees.md","heading_path":["Fees"],"start":0,"end":26,"text":"The transfer fee is 5 EUR."}]}`
	wrong = `{"answer":"The transfer fee is 9 EUR [1].","passages":[{"document":"fees.md","text":"The transfer fee is 5 EUR.","score":0.9}]}`
)

func TestJudgeAnswersWithTheJudgement(t *testing.T) {
	m, err := skill(t, SkillJudge).Answer(context.Background(), &agent.Request{Message: message(t, sound)})
	if err != nil {
		t.Fatal(err)
	}
	data := agent.DataOf(m.GetParts()).GetStructValue().AsMap()
	if data["confidence"] != 1.0 || data["verdict"] != "pass" || data["threshold"] != 0.7 {
		t.Errorf("%v", data)
	}
	claim := data["claims"].([]any)[0].(map[string]any)
	if claim["verdict"] != "supported" || claim["passages"].([]any)[0] != "p1" || claim["reasons"].([]any)[0] != "quoted word for word from [1]" {
		t.Errorf("%v", claim)
	}
	if got, want := agent.TextOf(m.GetParts()), "PASS: confidence 1.00, at or over the threshold of 0.70.\n- claims: 1 supported"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// task is a run that keeps what it is told.
type task struct {
	agent.Run
	message   *a2apb.Message
	progress  []string
	artifacts []*a2apb.Artifact
}

func (r *task) Request() *agent.Request { return &agent.Request{Message: r.message} }

func (r *task) Working(m *a2apb.Message) error {
	r.progress = append(r.progress, agent.TextOf(m.GetParts()))
	return nil
}

func (r *task) Artifact(a *a2apb.Artifact) error {
	r.artifacts = append(r.artifacts, a)
	return nil
}

func TestValidateCompletesWithTheVerdictFailUnderTheThreshold(t *testing.T) {
	run := &task{message: message(t, wrong)}
	out, err := skill(t, SkillValidate).Run(context.Background(), run)
	if err != nil {
		t.Fatal(err)
	}
	if out.State != a2apb.TaskState_TASK_STATE_COMPLETED {
		t.Errorf("state %v", out.State)
	}
	if got, want := agent.TextOf(out.Message.GetParts()), "FAIL: confidence 0.03, under the threshold of 0.70."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if len(run.artifacts) != 1 || run.artifacts[0].GetArtifactId() != "judgement" {
		t.Fatalf("artifacts %v", run.artifacts)
	}
	parts := run.artifacts[0].GetParts()
	data := agent.DataOf(parts).GetStructValue().AsMap()
	if data["verdict"] != "fail" || data["confidence"].(float64) > 0.1 {
		t.Errorf("%v", data)
	}
	claim := data["claims"].([]any)[0].(map[string]any)
	if claim["verdict"] != "contradicted" || claim["reasons"].([]any)[0] != "[1]: the claim says 9 EUR, the passage 5 EUR" {
		t.Errorf("%v", claim)
	}
	if !strings.Contains(agent.TextOf(parts), "the claim says 9 EUR, the passage 5 EUR") {
		t.Errorf("%q", agent.TextOf(parts))
	}
}

func TestMalformedInputIsRefusedWithItsFields(t *testing.T) {
	for _, c := range []struct{ name, data, field, problem string }{
		{"no object", `[1]`, "", "must be an object with answer and passages"},
		{"nothing to judge", `{"passages":[]}`, ".answer", "is missing: give the text that is to be judged, or data"},
		{"unknown key", `{"answer":"x","passage":[]}`, ".passage", "is not known here; known are [answer passages citations schema data assertions computations product risk]"},
		{"answer no text", `{"answer":5}`, ".answer", "must be a text"},
		{"passages no list", `{"answer":"x","passages":{}}`, ".passages", "must be a list"},
		{"passage no object", `{"answer":"x","passages":["y"]}`, ".passages[0]", "must be an object"},
		{"no text", `{"answer":"x","passages":[{"id":"a"}]}`, ".passages[0].text", "is missing"},
		{"bad offset", `{"answer":"x","passages":[{"text":"y","start":1.5}]}`, ".passages[0].start", "must be a byte offset, a whole number from 0"},
		{"end before start", `{"answer":"x","passages":[{"text":"y","start":9,"end":3}]}`, ".passages[0].end", "is before start"},
		{"heading", `{"answer":"x","passages":[{"text":"y","heading_path":"A"}]}`, ".passages[0].heading_path", "must be a list of texts"},
		{"heading entry", `{"answer":"x","passages":[{"text":"y","heading_path":[1]}]}`, ".passages[0].heading_path[0]", "must be a text"},
		{"same id", `{"answer":"x","passages":[{"id":"a","text":"y"},{"id":"a","text":"z"}]}`, ".passages[1].id", `"a" is the id of passages[0], too`},
		{"schema without data", `{"answer":"x","schema":{}}`, ".data", "is missing: there is a schema but nothing to check against it"},
		{"bad schema", `{"data":1,"schema":{"minimum":"1"}}`, ".schema", "/minimum: got string, want number"},
		{"remote schema", `{"data":1,"schema":{"$ref":"http://127.0.0.1/s"}}`, ".schema", `the schema refers to "http://127.0.0.1/s": references outside the schema are not followed`},
		{"bad expression", `{"data":1,"assertions":[{"expression":"data =="}]}`, ".assertions[0].expression", ""},
		{"not bool", `{"data":1,"assertions":[{"name":"n","expression":"1 + 1"}]}`, ".assertions[0].expression", "line 1, column 1: the expression gives int, an assertion has to give bool"},
		{"no expression", `{"data":1,"assertions":[{"name":"n"}]}`, ".assertions[0].expression", "is missing"},
		{"bad computation", `{"data":1,"computations":[{"expression":"2 *","value":4}]}`, ".computations[0].expression", `column 4: a number, a path or "(" is expected here`},
		{"no value", `{"data":1,"computations":[{"expression":"2 * 2"}]}`, ".computations[0].value", "is missing"},
		{"bad value", `{"data":1,"computations":[{"expression":"2 * 2","value":[4]}]}`, ".computations[0].value", "a number is expected, not a list"},
		{"citation of nothing", `{"answer":"x","passages":[{"id":"a","text":"y"}],"citations":[{"marker":"1","passage":"b"}]}`, ".citations[0]", `"b" is not the id of a passage`},
		{"citation no list", `{"answer":"x","citations":"a"}`, ".citations", `must be a list of {"marker", "passage"} or of passage ids`},
		{"citation number", `{"answer":"x","citations":[1]}`, ".citations[0]", `must be {"marker", "passage"} or the id of a passage`},
		{"long answer", `{"answer":"` + strings.Repeat("a", 40000) + `"}`, ".answer", "has 40000 bytes, at most 32768 are judged at once"},
		{"product", `{"answer":"x","product":1}`, ".product", "must be a text"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, id := range []string{SkillJudge, SkillValidate} {
				err := skill(t, id).Check(context.Background(), &agent.Request{Message: message(t, c.data)})
				e := fault.As(err)
				if e == nil || e.Reason != fault.InvalidArgument || len(e.Fields) == 0 {
					t.Fatalf("%s: %v", id, err)
				}
				f := e.Fields[0]
				if f.Path != "message.parts[1].data"+c.field || c.problem != "" && f.Problem != c.problem {
					t.Errorf("%s: %s: %q, want %s: %q", id, f.Path, f.Problem, c.field, c.problem)
				}
			}
		})
	}
}

func TestEveryFaultOfARequestIsListed(t *testing.T) {
	err := skill(t, SkillJudge).Check(context.Background(), &agent.Request{Message: message(t, `{"answer":1,"passages":[{},{"text":2}]}`)})
	e := fault.As(err)
	if e == nil || len(e.Fields) != 3 {
		t.Fatalf("%+v", e)
	}
	if want := "message.parts[1].data.answer: must be a text (and 2 more)"; e.Message != want {
		t.Errorf("%q, want %q", e.Message, want)
	}
}

func TestMessageWithoutDataSaysWhatToSend(t *testing.T) {
	_, err := skill(t, SkillJudge).Answer(context.Background(), &agent.Request{Message: agent.Message(agent.Text("is this right?"))})
	if e := fault.As(err); e == nil || e.Fields[0].Path != "message.parts" || !strings.HasPrefix(e.Fields[0].Problem, `add a data part {"answer"`) {
		t.Errorf("%v", err)
	}
}

func TestDeclaredCitationsBindMarkers(t *testing.T) {
	for name, citations := range map[string]string{
		"objects": `[{"marker":"fees","passage":"p2"},{"marker":1,"passage":"p1"}]`,
		"ids":     `["p1","p2"]`,
	} {
		marker := map[string]string{"objects": "fees", "ids": "2"}[name]
		data := `{"answer":"The transfer fee is 5 EUR [` + marker + `].","passages":[{"id":"p1","text":"Cards are blue."},{"id":"p2","text":"The transfer fee is 5 EUR."}],"citations":` + citations + `}`
		m, err := skill(t, SkillJudge).Answer(context.Background(), &agent.Request{Message: message(t, data)})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := agent.DataOf(m.GetParts()).GetStructValue().AsMap()["confidence"]; got != 1.0 {
			t.Errorf("%s: confidence %v: %s", name, got, agent.TextOf(m.GetParts()))
		}
	}
}

func TestCanceledJudgementIsNoVerdict(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := skill(t, SkillJudge).Answer(ctx, &agent.Request{Message: message(t, sound)}); err != context.Canceled {
		t.Errorf("%v", err)
	}
}

func FuzzDecode(f *testing.F) {
	for _, s := range []string{sound, wrong, `{"answer":"x","citations":[{"marker":1}],"passages":[null]}`, `{"data":{},"schema":{"$ref":"#"},"computations":[{"expression":"(","value":"%"}]}`, `null`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, data string) {
		v := &structpb.Value{}
		if protojson.Unmarshal([]byte(data), v) != nil {
			return
		}
		_, _, err := decode(&a2apb.Message{Parts: []*a2apb.Part{{Content: &a2apb.Part_Data{Data: v}}}})
		if err != nil && fault.As(err) == nil {
			t.Fatalf("%q gives %v, which a client cannot read", data, err)
		}
	})
}
