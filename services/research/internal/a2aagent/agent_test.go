package a2aagent

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/encoding/protojson"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/fault"
	"sabha.dev/services/research/internal/retrieval"
)

// shelves answers from a table and remembers what was asked.
type shelves struct {
	answers map[string][]retrieval.Result
	asked   []retrieval.Query
	err     error
}

func (s *shelves) Embedding() string { return "test-vectors" }

func (s *shelves) Search(_ context.Context, q retrieval.Query) ([]retrieval.Result, error) {
	s.asked = append(s.asked, q)
	return s.answers[q.Text], s.err
}

func passage(document string, ordinal int, confidence float64) retrieval.Result {
	return retrieval.Result{
		Document: document, Title: "T " + document, Digest: "sha256:aa", HeadingPath: []string{"H"}, Ordinal: ordinal,
		Start: 10, End: 20, Text: "text of " + document, Score: 0.03, Confidence: confidence,
	}
}

// message reads a message from its parts as JSON.
func message(t *testing.T, parts string) *a2apb.Message {
	t.Helper()
	m := &a2apb.Message{}
	if err := protojson.Unmarshal([]byte(`{"messageId":"m","role":"ROLE_USER","parts":`+parts+`}`), m); err != nil {
		t.Fatal(err)
	}
	return m
}

func skill(t *testing.T, engine Engine, id string) agent.Skill {
	t.Helper()
	for _, s := range New(engine, "1").Skills {
		if s.ID == id {
			return s
		}
	}
	t.Fatalf("no skill %s", id)
	return agent.Skill{}
}

func TestSearchTakesTextAndData(t *testing.T) {
	cases := []struct {
		name, parts string
		want        retrieval.Query
	}{
		{"text", `[{"text":"retry policy"}]`, retrieval.Query{Text: "retry policy", Limit: 5}},
		{
			"the data of knowledge-search", `[{"data":{"action":"research","query":"retry","limit":2,"kind":"runbook","product":["a","b"],"environment":"prod"}}]`,
			retrieval.Query{Text: "retry", Limit: 2, Filters: map[string][]string{"kind": {"runbook"}, "product": {"a", "b"}, "environment": {"prod"}}},
		},
		{
			"text beside the filters of a frame", `[{"text":"market trend"},{"data":{"filters":{"Year":2026,"draft":false},"min_confidence":0.5}}]`,
			retrieval.Query{Text: "market trend", Limit: 5, MinConfidence: 0.5, Filters: map[string][]string{"year": {"2026"}, "draft": {"false"}}},
		},
		{
			"a time", `[{"data":{"query":"q","since":"2026-01-31","until":"2026-02-01T12:00:00Z"}}]`,
			retrieval.Query{Text: "q", Limit: 5, Since: time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC), Until: time.Date(2026, 2, 1, 12, 0, 0, 0, time.UTC)},
		},
		{"the data's query before the text", `[{"text":"see data"},{"data":{"query":"q"}}]`, retrieval.Query{Text: "q", Limit: 5}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			engine := &shelves{}
			if _, err := skill(t, engine, Search).Answer(t.Context(), &agent.Request{Message: message(t, c.parts)}); err != nil {
				t.Fatal(err)
			}
			if c.want.Filters == nil {
				c.want.Filters = map[string][]string{}
			}
			if len(engine.asked) != 1 || !reflect.DeepEqual(engine.asked[0], c.want) {
				t.Errorf("asked %+v, want %+v", engine.asked, c.want)
			}
		})
	}
}

func TestSearchAnswersWithTextAndData(t *testing.T) {
	engine := &shelves{answers: map[string][]retrieval.Result{"q": {passage("a.md", 0, 0.9)}}}
	got, err := skill(t, engine, Search).Answer(t.Context(), &agent.Request{Message: message(t, `[{"text":"q"}]`)})
	if err != nil {
		t.Fatal(err)
	}
	if got.GetRole() != a2apb.Role_ROLE_AGENT || len(got.GetParts()) != 2 || !strings.HasPrefix(got.GetParts()[0].GetText(), "Extracted 1 relevant passage from T a.md.\n") {
		t.Fatalf("got %v", got)
	}
	raw, err := got.GetParts()[1].GetData().MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	var data, want any
	_ = json.Unmarshal(raw, &data)
	_ = json.Unmarshal([]byte(`{"query":"q","embedding":"test-vectors","results":[{"document":"a.md","title":"T a.md","digest":"sha256:aa",
		"heading_path":["H"],"start":10,"end":20,"text":"text of a.md","score":0.03,"confidence":0.9}]}`), &want)
	if !reflect.DeepEqual(data, want) {
		t.Errorf("data is %s", raw)
	}
}

func TestSearchMissesHonestly(t *testing.T) {
	got, err := skill(t, &shelves{}, Search).Answer(t.Context(), &agent.Request{Message: message(t, `[{"text":"q"}]`)})
	if err != nil {
		t.Fatal(err)
	}
	if list := got.GetParts()[1].GetData().GetStructValue().GetFields()["results"].GetListValue(); list == nil || len(list.GetValues()) != 0 {
		t.Errorf("results are %v", list)
	}
}

func TestBadInputNamesItsField(t *testing.T) {
	cases := []struct{ parts, field string }{
		{`[{"data":{"query":"q","limit":6}}]`, "message.parts[0].data.limit"},
		{`[{"data":{"query":"q","limit":0}}]`, "message.parts[0].data.limit"},
		{`[{"data":{"query":"q","limit":2.5}}]`, "message.parts[0].data.limit"},
		{`[{"data":{"query":"q","limit":"3"}}]`, "message.parts[0].data.limit"},
		{`[{"text":"q"},{"data":{"min_confidence":1.5}}]`, "message.parts[1].data.min_confidence"},
		{`[{"data":{"query":5}}]`, "message.parts[0].data.query"},
		{`[{"data":{"query":"q","action":"ask-network"}}]`, "message.parts[0].data.action"},
		{`[{"data":{"query":"q","kind":{"a":1}}}]`, "message.parts[0].data.kind"},
		{`[{"data":{"query":"q","filters":{"year":[]}}}]`, "message.parts[0].data.filters.year"},
		{`[{"data":{"query":"q","since":"last week"}}]`, "message.parts[0].data.since"},
		{`[{"data":{"query":"q","filters":"x"}}]`, "message.parts[0].data.filters"},
		{`[{"data":{"query":"q","colour":"red"}}]`, "message.parts[0].data.colour"},
		{`[{"data":["q"]}]`, "message.parts[0].data"},
	}
	for _, c := range cases {
		_, err := skill(t, &shelves{}, Search).Answer(t.Context(), &agent.Request{Message: message(t, c.parts)})
		f := fault.As(err)
		if f == nil || f.Reason != fault.InvalidArgument || f.Fields[0].Path != c.field {
			t.Errorf("%s: %v, want a fault on %s", c.parts, err, c.field)
		}
	}
}

func TestFaultsOfTheSearchNameTheFieldOfTheMessage(t *testing.T) {
	for parts, want := range map[string]string{
		`[{"text":"  "}]`:                "message.parts",
		`[{"data":{"query":" "}}]`:       "message.parts[0].data.query",
		`[{"data":{"action":"search"}}]`: "message.parts[0].data.query",
	} {
		engine := &shelves{err: fault.Invalid("query", "is empty")}
		_, err := skill(t, engine, Search).Answer(t.Context(), &agent.Request{Message: message(t, parts)})
		if f := fault.As(err); f == nil || f.Fields[0].Path != want || f.Message != want+": is empty" {
			t.Errorf("%s: %v, want a fault on %s", parts, err, want)
		}
	}
	cause := errors.New("disk on fire")
	if _, err := skill(t, &shelves{err: cause}, Search).Answer(t.Context(), &agent.Request{Message: message(t, `[{"text":"q"}]`)}); !errors.Is(err, cause) {
		t.Errorf("got %v", err)
	}
}

func TestOnlyTheDirectAnswerIsForAnybody(t *testing.T) {
	if s := skill(t, &shelves{}, Search); !s.Anonymous || s.Answer == nil || s.Run != nil {
		t.Errorf("search is %+v", s)
	}
	if s := skill(t, &shelves{}, Investigate); s.Anonymous || s.Answer != nil || s.Run == nil {
		t.Errorf("investigate is %+v", s)
	}
}

func TestActionRoutesToTheSkill(t *testing.T) {
	for parts, want := range map[string]string{
		`[{"text":"q"}]`: Search,
		`[{"data":{"action":"search","query":"q"}}]`:      Search,
		`[{"data":{"action":"research","query":"q"}}]`:    Search,
		`[{"data":{"action":"investigate","query":"q"}}]`: Investigate,
		`[{"data":{"action":7}}]`:                         Search,
		`[{"data":"text"}]`:                               Search,
	} {
		if got := New(&shelves{}, "1").Route(&a2apb.SendMessageRequest{Message: message(t, parts)}); got != want {
			t.Errorf("%s goes to %s, want %s", parts, got, want)
		}
	}
}

// recorded is a run that keeps what it is told.
type recorded struct {
	agent.Run
	request   *agent.Request
	progress  []string
	artifacts []*a2apb.Artifact
}

func (r *recorded) Request() *agent.Request { return r.request }

func (r *recorded) Working(m *a2apb.Message) error {
	r.progress = append(r.progress, agent.TextOf(m.GetParts()))
	return nil
}

func (r *recorded) Artifact(a *a2apb.Artifact) error {
	r.artifacts = append(r.artifacts, a)
	return nil
}

func TestInvestigateSearchesEachSentenceAndEndsWithOneArtifact(t *testing.T) {
	whole := "Who decides in v1.0? What must be told to the regulator?"
	engine := &shelves{answers: map[string][]retrieval.Result{
		whole:                                {passage("a.md", 0, 0.3), passage("b.md", 1, 0.2)},
		"Who decides in v1.0":                {passage("b.md", 1, 0.7)},
		"What must be told to the regulator": {passage("c.md", 2, 0.9), passage("a.md", 0, 0.1)},
	}}
	run := &recorded{request: &agent.Request{Message: message(t, `[{"data":{"query":"`+whole+`","limit":2}}]`)}}
	outcome, err := skill(t, engine, Investigate).Run(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`Searching for "` + whole + `" (1 of 3)`, `Searching for "Who decides in v1.0" (2 of 3)`, `Searching for "What must be told to the regulator" (3 of 3)`,
	}
	if !reflect.DeepEqual(run.progress, want) {
		t.Errorf("progress %q", run.progress)
	}
	if outcome.State != a2apb.TaskState_TASK_STATE_COMPLETED || agent.TextOf(outcome.Message.GetParts()) != "Extracted 2 relevant passages from T c.md and T b.md." {
		t.Errorf("outcome %+v", outcome)
	}
	if len(run.artifacts) != 1 || run.artifacts[0].GetArtifactId() != "passages" {
		t.Fatalf("artifacts %v", run.artifacts)
	}
	var documents []string
	for _, r := range agent.DataOf(run.artifacts[0].GetParts()).GetStructValue().GetFields()["results"].GetListValue().GetValues() {
		documents = append(documents, r.GetStructValue().GetFields()["document"].GetStringValue())
	}
	if !reflect.DeepEqual(documents, []string{"c.md", "b.md"}) {
		t.Errorf("passages of %v", documents)
	}
}

func TestInvestigateOfOneSentenceSearchesOnce(t *testing.T) {
	engine := &shelves{}
	run := &recorded{request: &agent.Request{Message: message(t, `[{"text":"Who decides?"}]`)}}
	outcome, err := skill(t, engine, Investigate).Run(t.Context(), run)
	if err != nil || outcome.State != a2apb.TaskState_TASK_STATE_COMPLETED || len(engine.asked) != 1 || engine.asked[0].Limit != 8 {
		t.Errorf("outcome %+v, %v; asked %+v", outcome, err, engine.asked)
	}
}

func TestInvestigateRefusesBadInput(t *testing.T) {
	run := &recorded{request: &agent.Request{Message: message(t, `[{"data":{"query":"q","limit":21}}]`)}}
	if _, err := skill(t, &shelves{}, Investigate).Run(t.Context(), run); !fault.Is(err, fault.InvalidArgument) || len(run.progress) != 0 {
		t.Errorf("got %v after %v", err, run.progress)
	}
}

func FuzzReadTakesAnyData(f *testing.F) {
	f.Add(`{"action":"search","query":"q","limit":5,"filters":{"a":[1,true,"x"]}}`)
	f.Add(`[null]`)
	f.Add(`{"limit":1e308,"query":null}`)
	f.Fuzz(func(t *testing.T, data string) {
		m := &a2apb.Message{}
		if protojson.Unmarshal([]byte(`{"parts":[{"data":`+data+`}]}`), m) != nil {
			return
		}
		in, err := read(m, searchDefault, searchMost)
		if err == nil && (in.Limit < 1 || in.Limit > searchMost) {
			t.Errorf("%s: limit %d", data, in.Limit)
		}
		if err != nil && fault.As(err) == nil {
			t.Errorf("%s: %v is not a fault", data, err)
		}
	})
}
