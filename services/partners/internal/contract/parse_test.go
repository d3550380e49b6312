package contract

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/services/partners/internal/drift"
	"sabha.dev/services/partners/internal/remote"
)

const file = `partner: underwriter
owner: partnerships@bank.example
every: 6h
jitter: 30m
baseline: 100
passes: 90
on_drift: suspend
on_failure: tell
measures:
  rate: {number: data.rate}
  verdict: {category: /verdict}
  reasons: {length: data.reasons}
  words: {length: answer}
tasks:
  small-loan:
    skill: underwrite
    text: Please underwrite this.
    data: {amount: 120000}
    repeats: 9
    schema: {type: object, required: [rate]}
    assert: [data.rate > 0.0, took < 30.0]
  greeting:
    skill: greet
    text: Hello
    measures: [words]
`

func TestAFileIsRead(t *testing.T) {
	s, err := Parse("underwriter.yaml", []byte(file))
	if err != nil {
		t.Fatal(err)
	}
	if s.Every != 6*time.Hour || s.OnDrift != Suspend || s.OnFailure != Tell || s.Calls() != 10 || s.Values("rate") != 9 || s.Values("words") != 10 || len(s.Digest) != 64 {
		t.Errorf("it is %+v", s)
	}
	if len(s.Notes) != 0 {
		t.Errorf("notes of a suite that is large enough: %q", s.Notes)
	}
	again, err := Parse("other.yaml", []byte(strings.Replace(file, "every: 6h", "every: 1h", 1)))
	if err != nil || again.Digest != s.Digest {
		t.Errorf("another schedule makes other golden tasks (%v)", err)
	}
	other, err := Parse("underwriter.yaml", []byte(strings.Replace(file, "120000", "120001", 1)))
	if err != nil || other.Digest == s.Digest {
		t.Errorf("another input makes the same golden tasks (%v)", err)
	}
}

func TestASuiteThatIsTooSmallSaysWhatItNeeds(t *testing.T) {
	s, err := Parse("underwriter.yaml", []byte(strings.Replace(file, "repeats: 9", "repeats: 4", 1)))
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Notes) != 4 || !strings.Contains(s.Notes[0], "rate: a run gives 4 values of it; it needs at least 9") {
		t.Errorf("the notes are %q", s.Notes)
	}
	s, err = Parse("x.yaml", []byte("partner: a\nowner: b\ntasks: {t: {skill: s, text: hi}}"))
	if err != nil || len(s.Notes) != 1 || !strings.Contains(s.Notes[0], "add measures") {
		t.Errorf("without measures it says %q (%v)", s.Notes, err)
	}
}

func TestProblemsOfAFileHaveTheirLines(t *testing.T) {
	for _, c := range []struct{ from, to, want string }{
		{"partner: underwriter", "partner: Under Writer", `f.yaml:1: partner: "Under Writer" is not a partner's id`},
		{"every: 6h", "every: 1s", "f.yaml:3: every: must be from 1m to 168h"},
		{"baseline: 100", "baseline: 10", "f.yaml:5: baseline: must be a whole number from 50 to 1000"},
		{"passes: 90", "pases: 90", `f.yaml:6: unknown key "pases"`},
		{"on_drift: suspend", "on_drift: stop", `f.yaml:7: on_drift: "stop" is unknown`},
		{"number: data.rate", "number: data.", "f.yaml:10: measures.rate.number: Syntax error"},
		{"number: data.rate", "number: answer", "f.yaml:10: measures.rate.number: the expression gives string; it has to give double"},
		{"{number: data.rate}", "{number: data.rate, length: answer}", "f.yaml:10: measures.rate: needs exactly one of"},
		{"  rate: {", "  took: {", "f.yaml:10: measures.took: took is measured of every suite"},
		{"data.rate > 0.0", "size(answer)", "f.yaml:21: tasks.small-loan.assert[0]: the expression gives int; it has to give bool"},
		{"data.rate > 0.0", "/rate", "f.yaml:21: tasks.small-loan.assert[0]: an assertion is an expression"},
		{"required: [rate]", "required: 5", "f.yaml:20: tasks.small-loan.schema: cannot be used as a JSON Schema"},
		{"required: [rate]", `$ref: "https://evil.example/s.json"`, "f.yaml:20: tasks.small-loan.schema: cannot be used as a JSON Schema"},
		{"repeats: 9", "repeats: 0", "f.yaml:19: tasks.small-loan.repeats: must be a whole number from 1 to 50"},
		{"measures: [words]", "measures: [word]", `f.yaml:25: tasks.greeting.measures[0]: unknown measure "word" (did you mean "words"?)`},
		{"    text: Hello\n", "", "f.yaml:22: tasks.greeting: asks nothing"},
		{"data: {amount: 120000}", "data: [1]", "f.yaml:18: tasks.small-loan.data: must be a map"},
	} {
		changed := strings.Replace(file, c.from, c.to, 1)
		if changed == file {
			t.Fatalf("%q is not in the file", c.from)
		}
		_, err := Parse("f.yaml", []byte(changed))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q for %q: %v\nwant %s", c.to, c.from, err, c.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(file))
	f.Add([]byte("partner: a\nowner: b\ntasks: {t: {skill: s, data: {x: [.inf]}}}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Parse("f.yaml", data)
		if err == nil && (s.Partner == "" || len(s.Tasks) == 0 || s.Digest == "") {
			t.Errorf("taken is %+v", s)
		}
	})
}

func TestAnswersAreMeasured(t *testing.T) {
	s, err := Parse("underwriter.yaml", []byte(file))
	if err != nil {
		t.Fatal(err)
	}
	data := func(m map[string]any) *a2apb.Part {
		v, err := structpb.NewValue(m)
		if err != nil {
			t.Fatal(err)
		}
		return &a2apb.Part{Content: &a2apb.Part_Data{Data: v}}
	}
	text := func(s string) *a2apb.Part { return &a2apb.Part{Content: &a2apb.Part_Text{Text: s}} }
	all := map[string]any{"rate": 3.5, "verdict": "approve", "reasons": []any{"a", "b"}}
	for _, c := range []struct {
		name    string
		parts   []*a2apb.Part
		took    time.Duration
		outcome string
		problem string
	}{
		{"good", []*a2apb.Part{text("Yes."), data(all)}, time.Second, Good, ""},
		{"JSON as text", []*a2apb.Part{text(`{"rate": 3.5, "verdict": "approve", "reasons": []}`)}, time.Second, Good, ""},
		{"slow", []*a2apb.Part{data(all)}, time.Minute, Wrong, "took < 30.0 does not hold"},
		{"against the schema", []*a2apb.Part{data(map[string]any{"verdict": "approve", "reasons": []any{}})}, time.Second, Invalid, "schema: /: missing property 'rate'"},
		{"an assertion that cannot be", []*a2apb.Part{data(map[string]any{"rate": "low", "verdict": "x", "reasons": []any{}})}, time.Second, Wrong, "data.rate > 0.0: no such overload"},
		{"without a measure", []*a2apb.Part{data(map[string]any{"rate": 3.5, "reasons": []any{}})}, time.Second, Invalid, "the measure verdict: there is nothing at /verdict"},
		{"nothing", nil, time.Second, Invalid, "schema"},
	} {
		r, digest := read(remote.Answer{Parts: c.parts, Took: c.took})
		var x Sample
		outcome, problem := s.check(t.Context(), &s.Tasks[0], r, &x)
		if outcome != c.outcome || !strings.Contains(problem, c.problem) || len(digest) != 64 {
			t.Errorf("%s is %s: %q", c.name, outcome, problem)
		}
		if c.name == "good" && (x.Numbers["rate"] != 3.5 || x.Numbers["reasons"] != 2 || x.Numbers["words"] != 4 || x.Categories["verdict"] != "approve") {
			t.Errorf("measured is %+v", x)
		}
	}
	run := s.measured([]Sample{{Task: "a", Outcome: Good, Took: 1, Numbers: map[string]float64{"rate": 2}}, {Task: "a", Outcome: Failed}})
	if len(run.Numbers[drift.Key{Measure: Took, Task: "a"}]) != 1 || len(run.Categories[drift.Key{Measure: Outcome, Task: "a"}]) != 2 {
		t.Errorf("compared is %+v", run)
	}
}

func TestAnExpressionThatCostsTooMuchIsStopped(t *testing.T) {
	text := strings.Replace(file, "data.rate > 0.0", `"data.xs.all(a, data.xs.all(b, data.xs.all(c, a + b + c > 0.0)))", "int(answer) > 1"`, 1)
	s, err := Parse("f.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	xs := make([]any, 500)
	for i := range xs {
		xs[i] = 1.0
	}
	v, err := s.Tasks[0].asserts[0].evaluate(t.Context(), &reply{data: map[string]any{"xs": xs}})
	if err == nil || !strings.Contains(err.Error(), "cost limit") {
		t.Errorf("it gives %v (%v)", v, err)
	}
	if _, err := s.Tasks[0].asserts[1].evaluate(t.Context(), &reply{text: "card 4111"}); err == nil || strings.Contains(err.Error(), "4111") {
		t.Errorf("of a value is said %v", err)
	}
}

func TestAFolderIsReadAgain(t *testing.T) {
	folder := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("a.yaml", file)
	r := newRig(t, opener(t, "sqlite:"+filepath.Join(t.TempDir(), "p.db"))(), golden(t, ""), nil)
	b, err := OpenBook(folder, r.clock, r.log)
	if err != nil || b.Suite("underwriter") == nil || b.Suite("other") != nil {
		t.Fatalf("the folder is %v (%v)", b, err)
	}
	write("b.yaml", file)
	r.clock.Advance(lookEvery)
	if len(b.Suites()) != 1 {
		t.Error("two files of one partner are in force")
	}
	if _, _, err := ReadFolder(folder); err == nil || !strings.Contains(err.Error(), "has golden tasks in") {
		t.Errorf("two files of one partner are %v", err)
	}
	write("b.yaml", strings.Replace(file, "partner: underwriter", "partner: other", 1))
	r.clock.Advance(lookEvery)
	if len(b.Suites()) != 2 || b.Suite("other") == nil {
		t.Error("a new file is not in force")
	}
	if _, err := OpenBook(filepath.Join(folder, "missing"), r.clock, r.log); err == nil {
		t.Error("a folder that is not there is taken")
	}
}
