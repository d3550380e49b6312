package render_test

import (
	"bufio"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/timestamppb"

	"sabha.dev/cmd/sabha/internal/card"
	"sabha.dev/cmd/sabha/internal/render"
	"sabha.dev/cmd/sabha/internal/rig"
	adminv1 "sabha.dev/gen/sabha/admin/v1"
	reviewv1 "sabha.dev/gen/sabha/review/v1"
)

var update = flag.Bool("update", false, "write the golden files anew")

// now is when the pictures are drawn; the events of testdata began 3.2 s before.
var now = time.Date(2026, 1, 2, 10, 0, 3, 200e6, time.UTC)

var began = now.Add(-3200 * time.Millisecond)

// golden compares lines with a file of testdata/golden.
func golden(t *testing.T, name string, lines []string) {
	t.Helper()
	file := filepath.Join("testdata", "golden", name+".txt")
	got := strings.Join(lines, "\n") + "\n"
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
	}
}

// play applies the events of a file, one JSON object a line.
func play(t *testing.T, name string, each func(*render.Progress, render.Change)) *render.Progress {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", name+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	p := &render.Progress{}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		c := p.Apply(rig.Event(t, lines.Text()))
		if each != nil {
			each(p, c)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestBoard(t *testing.T) {
	for _, c := range []struct {
		name, events string
		style        render.Style
		height       int
	}{
		{"board", "running", render.Style{Width: 99}, 0},
		{"board-colour", "running", render.Style{Width: 99, Color: true}, 0},
		{"board-narrow", "running", render.Style{Width: 40}, 0},
		{"board-tiny", "running", render.Style{Width: 18}, 0},
		{"board-low", "running", render.Style{Width: 99}, 7},
		{"board-done", "answered", render.Style{Width: 99}, 0},
		{"board-stored", "stored", render.Style{Width: 99}, 0},
		{"board-hostile", "hostile", render.Style{Width: 60}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			lines := c.style.Board(play(t, c.events, nil), began, now, c.height)
			golden(t, c.name, lines)
			if c.height > 0 && len(lines) > c.height {
				t.Errorf("%d lines, more than %d", len(lines), c.height)
			}
			for _, l := range lines {
				if n := len([]rune(l)); !c.style.Color && n > c.style.Width {
					t.Errorf("%d columns in %q", n, l)
				}
			}
		})
	}
}

func TestPlain(t *testing.T) {
	for _, events := range []string{"running", "answered"} {
		t.Run(events, func(t *testing.T) {
			s := render.Style{Zone: time.UTC}
			var lines []string
			play(t, events, func(p *render.Progress, c render.Change) { lines = append(lines, s.Plain(p, c, now)...) })
			golden(t, "plain-"+events, lines)
		})
	}
}

func TestAnswer(t *testing.T) {
	p := play(t, "answered", nil)
	golden(t, "answer", render.Style{Width: 60}.Artifacts(p.Task.GetArtifacts()))
	golden(t, "answer-piped", render.Style{}.Artifacts(p.Task.GetArtifacts()))
}

func TestTaskAndList(t *testing.T) {
	p := play(t, "stored", nil)
	s := render.Style{Width: 79, Zone: time.UTC}
	golden(t, "task", s.Task(p.Task, now))
	golden(t, "tasks", s.Tasks([]*a2apb.Task{p.Task, play(t, "running", nil).Task}))
}

func TestContinueNamesTheFieldsThatAreMissing(t *testing.T) {
	e := rig.Event(t, `{"task": {"id": "0198-a", "status": {"state": "TASK_STATE_INPUT_REQUIRED", "message": {"messageId": "n", "role": "ROLE_AGENT",
		"parts": [{"text": "more"}, {"data": {"needs": [{"path": "/code"}, {"path": "/deep/er"}, {"path": ""}]}}]}}}}`)
	golden(t, "continue", render.Continue(e.GetTask()))
}

func TestHops(t *testing.T) {
	at := func(ms int) *timestamppb.Timestamp {
		return timestamppb.New(began.Add(time.Duration(ms) * time.Millisecond))
	}
	hops := []*adminv1.Hop{
		{TaskId: "b", ParentTaskId: "a", Caller: "planner", Agent: "research", Skill: "investigate", ProtocolVersion: "1.0", StartedAt: at(20), EndedAt: at(440), Outcome: "TASK_STATE_COMPLETED"},
		{TaskId: "a", Caller: "gateway", Agent: "planner", Skill: "plan-and-run", ProtocolVersion: "1.0", StartedAt: at(0), Outcome: "TASK_STATE_INPUT_REQUIRED", Admission: "allowed by policy p1"},
		{ParentTaskId: "b", Caller: "research", Agent: "security", Skill: "screen", ProtocolVersion: "1.0", StartedAt: at(21), EndedAt: at(22), Outcome: "MESSAGE"},
		{TaskId: "c", ParentTaskId: "a", Caller: "planner", Agent: "executor", Skill: "run-code", ProtocolVersion: "1.0", StartedAt: at(500), EndedAt: at(600), Outcome: "TASK_STATE_FAILED", Reason: "line 1:\nundefined"},
	}
	golden(t, "hops", render.Style{Width: 110, Zone: time.UTC}.Hops(hops))
}

func TestCard(t *testing.T) {
	c, findings := card.Check([]byte(`{"name": "Council", "description": "Answers questions about documents.", "version": "2", "capabilities": {"streaming": true},
		"supportedInterfaces": [{"url": "0.0.0.0:9090", "protocolBinding": "GRPC", "protocolVersion": "1.0", "tenant": "research"}],
		"defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
		"skills": [{"id": "search", "name": "Search", "description": "Finds passages.", "tags": ["rag"]}]}`))
	s := render.Style{Width: 70}
	golden(t, "card", append(s.Card(c), s.Findings(findings)...))
}

func TestTook(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0ms", 0: "0ms", 999 * time.Millisecond: "999ms", 1999 * time.Millisecond: "1.9s", 59900 * time.Millisecond: "59s",
		61 * time.Second: "1m 01s", 25*time.Hour + 3*time.Minute: "25h 03m",
	} {
		if got := render.Took(d); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
}

func TestAnAppendedArtifactGrows(t *testing.T) {
	p := &render.Progress{}
	for _, raw := range []string{
		`{"artifactUpdate": {"taskId": "t", "artifact": {"artifactId": "a", "parts": [{"text": "one"}]}}}`,
		`{"artifactUpdate": {"taskId": "t", "append": true, "artifact": {"artifactId": "a", "parts": [{"text": "two"}]}}}`,
		`{"artifactUpdate": {"taskId": "t", "artifact": {"artifactId": "b", "parts": [{"text": "other"}]}}}`,
		`{"artifactUpdate": {"taskId": "t", "artifact": {"artifactId": "b", "parts": [{"text": "replaced"}]}}}`,
	} {
		p.Apply(rig.Event(t, raw))
	}
	got := strings.Join(render.Style{}.Artifacts(p.Task.GetArtifacts()), "|")
	if want := "one||two||replaced"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func FuzzApply(f *testing.F) {
	for _, name := range []string{"running", "answered", "hostile", "stored"} {
		raw, err := os.ReadFile(filepath.Join("testdata", name+".jsonl"))
		if err != nil {
			f.Fatal(err)
		}
		for l := range strings.Lines(string(raw)) {
			f.Add(l, 40)
		}
	}
	f.Fuzz(func(t *testing.T, raw string, width int) {
		e := &a2apb.StreamResponse{}
		if protojson.Unmarshal([]byte(raw), e) != nil {
			return
		}
		p := &render.Progress{}
		s := render.Style{Width: width % 200, Zone: time.UTC}
		c := p.Apply(e)
		lines := append(s.Board(p, began, now, 10), s.Plain(p, c, now)...)
		if p.Task != nil {
			lines = append(lines, s.Task(p.Task, now)...)
		}
		for _, l := range lines {
			if strings.ContainsFunc(l, unicode.IsControl) {
				t.Fatalf("a control character reaches the terminal: %q", l)
			}
		}
	})
}

func TestAnItemTellsHowManyApprovalsItHas(t *testing.T) {
	one := []*reviewv1.Decision{{Approved: true}}
	for _, c := range []struct {
		item *reviewv1.Item
		want string
	}{
		{&reviewv1.Item{State: reviewv1.State_STATE_OPEN, ApprovalsNeeded: 2}, "open"},
		{&reviewv1.Item{State: reviewv1.State_STATE_OPEN, ApprovalsNeeded: 2, Decisions: one}, "open, 1 of 2 approvals"},
		{&reviewv1.Item{State: reviewv1.State_STATE_APPROVED, ApprovalsNeeded: 1, Decisions: one}, "approved"},
	} {
		if got := (render.Style{}).Reviews([]*reviewv1.Item{c.item}); !strings.Contains(got[1], "  "+c.want+"  ") && !strings.HasSuffix(strings.TrimRight(got[1], " "), c.want) {
			t.Errorf("%q has no state %q", got[1], c.want)
		}
	}
}
