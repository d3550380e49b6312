package a2aagent_test

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/encoding/protojson"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/identity"
	"sabha.dev/chassis/sqldb"
	"sabha.dev/chassis/taskstore"
	"sabha.dev/services/memory/internal/a2aagent"
	"sabha.dev/services/memory/internal/memory"
	"sabha.dev/services/memory/internal/sqlstore"
	"sabha.dev/services/memory/migrations"
	"sabha.dev/testrig/clocktest"
)

var (
	alice = identity.Principal{Subject: "alice", Organisation: "acme"}
	bob   = identity.Principal{Subject: "bob", Organisation: "acme"}
	start = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
)

type rig struct {
	t     *testing.T
	agent agent.Agent
	clock *clocktest.Clock
	sent  int
}

func newRig(t *testing.T) *rig {
	t.Helper()
	db, err := sqldb.Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "memory.db")+"?secure_delete=on")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if err := sqldb.Migrate(t.Context(), db, "memory", migrations.Files); err != nil {
		t.Fatal(err)
	}
	clock := clocktest.New(start)
	store, err := sqlstore.New(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	keeper := memory.NewKeeper(store, 0, clock, slog.New(slog.DiscardHandler))
	return &rig{t: t, agent: a2aagent.New(keeper, "1"), clock: clock}
}

// message reads a message from the JSON of its parts; each has an id of its own.
func (r *rig) message(contextID, parts string) *a2apb.Message {
	r.t.Helper()
	m := &a2apb.Message{}
	if err := protojson.Unmarshal([]byte(`{"parts": `+parts+`}`), m); err != nil {
		r.t.Fatal(err)
	}
	r.sent++
	m.MessageId, m.ContextId = fmt.Sprintf("m%d", r.sent), contextID
	return m
}

func (r *rig) send(p identity.Principal, skill string, m *a2apb.Message) (*a2apb.Message, error) {
	r.t.Helper()
	for _, s := range r.agent.Skills {
		if s.ID == skill {
			return s.Answer(context.WithoutCancel(r.t.Context()), &agent.Request{Message: m, Skill: skill, Principal: p, Digest: taskstore.Digest(m)})
		}
	}
	r.t.Fatalf("no skill %s", skill)
	return nil, nil
}

// ask sends and gives the answer's data.
func (r *rig) ask(p identity.Principal, skill, contextID, parts string) map[string]any {
	r.t.Helper()
	answer, err := r.send(p, skill, r.message(contextID, parts))
	if err != nil {
		r.t.Fatal(err)
	}
	return agent.DataOf(answer.GetParts()).GetStructValue().AsMap()
}

// texts lists what a recall finds.
func (r *rig) texts(p identity.Principal, contextID, parts string) string {
	r.t.Helper()
	var texts []string
	for _, m := range r.ask(p, a2aagent.Recall, contextID, parts)["memories"].([]any) {
		texts = append(texts, m.(map[string]any)["text"].(string))
	}
	return strings.Join(texts, " | ")
}

func TestRememberedIsRecalled(t *testing.T) {
	r := newRig(t)
	first := r.ask(alice, a2aagent.Remember, "", `[{"data": {"text": "Alice prefers letters.", "kind": "long_term", "tags": ["contact"]}}]`)
	if first["id"] == "" || first["kind"] != "long_term" {
		t.Errorf("answer %v", first)
	}
	if got := r.ask(alice, a2aagent.Remember, "c1", `[{"text": "We talk about letters of credit."}]`); got["kind"] != "context" {
		t.Errorf("answer %v", got)
	}
	list := r.ask(alice, a2aagent.Recall, "", `[{"data": {"query": "letters"}}]`)["memories"].([]any)
	got := fmt.Sprint(list)
	want := fmt.Sprintf("[map[created_at:2026-05-04T12:00:00.000000Z id:%s kind:long_term score:%v tags:[contact] text:Alice prefers letters.]]", first["id"], list[0].(map[string]any)["score"])
	if got != want {
		t.Errorf("recalled %s\nwant     %s", got, want)
	}
	for _, c := range []struct {
		who            identity.Principal
		context, parts string
		want           string
	}{
		{alice, "", `[{"text": "what about letters?"}]`, "Alice prefers letters."},
		{alice, "c1", `[{"text": "letters"}]`, "Alice prefers letters. | We talk about letters of credit."},
		{alice, "c1", `[{"data": {"query": "letters", "kind": "context"}}]`, "We talk about letters of credit."},
		{alice, "c1", `[{"data": {"query": "letters", "kind": "long_term"}}]`, "Alice prefers letters."},
		{alice, "c1", `[{"data": {"query": "letters", "limit": 1}}]`, "Alice prefers letters."},
		{alice, "c1", `[{"data": {"query": "parcels"}}]`, ""},
		{bob, "c1", `[{"data": {"query": "letters"}}]`, ""},
		{bob, "c1", `[{"data": {}}]`, ""},
		{identity.Principal{Subject: "alice", Organisation: "other"}, "", `[{"text": "letters"}]`, ""},
	} {
		if got := r.texts(c.who, c.context, c.parts); got != c.want {
			t.Errorf("%s in %q asks %s: %q, want %q", c.who.Key(), c.context, c.parts, got, c.want)
		}
	}
}

func TestTimeToLive(t *testing.T) {
	r := newRig(t)
	r.ask(alice, a2aagent.Remember, "", `[{"data": {"text": "The code is 4711.", "ttl_seconds": 60}}]`)
	r.clock.Advance(59 * time.Second)
	if got := r.texts(alice, "", `[{"text": "code"}]`); got != "The code is 4711." {
		t.Errorf("before: %q", got)
	}
	r.clock.Advance(time.Second)
	if got := r.texts(alice, "", `[{"text": "code"}]`); got != "" {
		t.Errorf("after: %q", got)
	}
}

func TestForget(t *testing.T) {
	r := newRig(t)
	r.ask(bob, a2aagent.Remember, "", `[{"text": "bob's note"}]`)
	id := r.ask(alice, a2aagent.Remember, "", `[{"text": "note one"}]`)["id"].(string)
	r.ask(alice, a2aagent.Remember, "c1", `[{"text": "note two"}]`)
	r.ask(alice, a2aagent.Remember, "", `[{"text": "note three"}]`)
	for _, c := range []struct {
		who         identity.Principal
		parts, left string
		forgotten   float64
	}{
		{bob, `[{"data": {"id": "` + id + `"}}]`, "note one | note three | note two", 0},
		{alice, `[{"data": {"id": "` + id + `"}}]`, "note three | note two", 1},
		{alice, `[{"data": {"context": "c1"}}]`, "note three", 1},
		{alice, `[{"data": {"all": true}}]`, "", 1},
	} {
		if got := r.ask(c.who, a2aagent.Forget, "", c.parts)["forgotten"]; got != c.forgotten {
			t.Errorf("%s forgets %s: %v, want %v", c.who.Subject, c.parts, got, c.forgotten)
		}
		left := strings.Split(r.texts(alice, "c1", `[{"text": "note"}]`), " | ")
		if got := strings.Join(slices.Sorted(slices.Values(left)), " | "); got != c.left {
			t.Errorf("after %s: %q, want %q", c.parts, got, c.left)
		}
	}
	if got := r.texts(bob, "", `[{"text": "note"}]`); got != "bob's note" {
		t.Errorf("bob has %q", got)
	}
}

func TestSameMessageActsOnce(t *testing.T) {
	r := newRig(t)
	m := r.message("", `[{"text": "only once"}]`)
	var answers []string
	for range 2 {
		answer, err := r.send(alice, a2aagent.Remember, m)
		if err != nil {
			t.Fatal(err)
		}
		answers = append(answers, agent.DataOf(answer.GetParts()).GetStructValue().AsMap()["id"].(string))
	}
	if answers[0] != answers[1] {
		t.Errorf("answers %v", answers)
	}
	if got := r.texts(alice, "", `[{"text": "once"}]`); got != "only once" {
		t.Errorf("recalled %q", got)
	}
	changed := r.message("", `[{"text": "another"}]`)
	changed.MessageId = m.GetMessageId()
	_, err := r.send(alice, a2aagent.Remember, changed)
	if f := fault.As(err); f == nil || f.Reason != fault.MessageIDConflict || f.Message != `messageId "m1" was used before with another content; a new message needs a new id` {
		t.Errorf("error %v", err)
	}
	if _, err := r.send(bob, a2aagent.Remember, changed); err != nil {
		t.Errorf("another caller's message with the id: %v", err)
	}
}

func TestLabelsStayWithTheMemory(t *testing.T) {
	r := newRig(t)
	label := func(v string) string { return `"metadata": {"urn:sabha:ext:labels:v1": ` + v + `}` }
	r.ask(alice, a2aagent.Remember, "", `[{"text": "found word", `+label(`{"integrity": "untrusted", "confidentiality": "public"}`)+`}]`)
	r.ask(alice, a2aagent.Remember, "", `[{"text": "own word", `+label(`{"integrity": "trusted", "confidentiality": "sensitive"}`)+`}]`)
	answer, err := r.send(alice, a2aagent.Recall, r.message("", `[{"text": "word"}]`))
	if err != nil {
		t.Fatal(err)
	}
	part := answer.GetParts()[0]
	if got := fmt.Sprint(part.GetMetadata().AsMap()); got != "map[urn:sabha:ext:labels:v1:map[confidentiality:sensitive integrity:untrusted]]" {
		t.Errorf("labels of the answer: %s", got)
	}
	var each []string
	for _, m := range part.GetData().GetStructValue().AsMap()["memories"].([]any) {
		each = append(each, fmt.Sprintf("%v %v", m.(map[string]any)["text"], m.(map[string]any)["labels"]))
	}
	want := "found word map[confidentiality:public integrity:untrusted] | own word map[confidentiality:sensitive integrity:trusted]"
	if got := strings.Join(slices.Sorted(slices.Values(each)), " | "); got != want {
		t.Errorf("labels %s\nwant   %s", got, want)
	}
}

func TestBadRequests(t *testing.T) {
	long := strings.Repeat("x", memory.MaxText+1)
	for name, c := range map[string]struct{ skill, context, parts, want string }{
		"no text":          {a2aagent.Remember, "", `[{"data": {"kind": "long_term"}}]`, "message.parts[0].data.text: is missing; give the text to remember"},
		"nothing":          {a2aagent.Remember, "", `[{"url": "https://example.org"}]`, "message.parts: is missing; give the text to remember"},
		"text too long":    {a2aagent.Remember, "", `[{"text": "` + long + `"}]`, "message.parts: has 16385 bytes; at most 16384 are kept in one memory"},
		"unstorable":       {a2aagent.Remember, "", `[{"data": {"text": "a\u0000b"}}]`, "message.parts[0].data.text: must not contain the character U+0000"},
		"unknown kind":     {a2aagent.Remember, "", `[{"data": {"text": "x", "kind": "semantic"}}]`, `message.parts[0].data.kind: is "semantic"; it must be context, long_term, fact or episode`},
		"context needed":   {a2aagent.Remember, "", `[{"data": {"text": "x", "kind": "context"}}]`, "message.contextId: is missing; a memory of kind context needs one"},
		"ttl of zero":      {a2aagent.Remember, "", `[{"data": {"text": "x", "ttl_seconds": 0}}]`, "message.parts[0].data.ttl_seconds: must be a whole number from 1 to 315360000"},
		"ttl with a part":  {a2aagent.Remember, "", `[{"data": {"text": "x", "ttl_seconds": 1.5}}]`, "message.parts[0].data.ttl_seconds: must be a whole number from 1 to 315360000"},
		"ttl beyond":       {a2aagent.Remember, "", `[{"data": {"text": "x", "ttl_seconds": 1e18}}]`, "message.parts[0].data.ttl_seconds: must be a whole number from 1 to 315360000"},
		"empty tag":        {a2aagent.Remember, "", `[{"text": "see"}, {"data": {"text": "x", "tags": ["a", ""]}}]`, "message.parts[1].data.tags[1]: must have 1 to 100 bytes"},
		"too many tags":    {a2aagent.Remember, "", `[{"data": {"text": "x", "tags": [` + strings.TrimSuffix(strings.Repeat(`"t",`, 21), ",") + `]}}]`, "message.parts[0].data.tags: there are 21; at most 20 are kept"},
		"unknown key":      {a2aagent.Remember, "", `[{"data": {"text": "x", "ttl": 1}}]`, `message.parts[0].data: has the unknown field "ttl"`},
		"limit of zero":    {a2aagent.Recall, "", `[{"data": {"query": "x", "limit": 0}}]`, "message.parts[0].data.limit: must be a whole number from 1 to 50"},
		"limit too large":  {a2aagent.Recall, "", `[{"data": {"query": "x", "limit": 51}}]`, "message.parts[0].data.limit: must be a whole number from 1 to 50"},
		"unknown kind too": {a2aagent.Recall, "", `[{"data": {"query": "x", "kind": "all"}}]`, `message.parts[0].data.kind: is "all"; it must be context, long_term, fact or episode`},
		"context of zeros": {a2aagent.Recall, "a\x00", `[{"text": "x"}]`, "message.contextId: must not contain the character U+0000"},
		"nothing chosen":   {a2aagent.Forget, "", `[{"data": {}}]`, "message.parts[0].data: must have exactly one of id, context and all: true"},
		"text alone":       {a2aagent.Forget, "", `[{"text": "everything"}]`, "message.parts: must have exactly one of id, context and all: true"},
		"two chosen":       {a2aagent.Forget, "", `[{"data": {"id": "x", "all": true}}]`, "message.parts[0].data: must have exactly one of id, context and all: true"},
		"all is false":     {a2aagent.Forget, "", `[{"data": {"all": false}}]`, "message.parts[0].data: must have exactly one of id, context and all: true"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			_, err := r.send(alice, c.skill, r.message(c.context, c.parts))
			f := fault.As(err)
			if f == nil || f.Message != c.want || f.Reason != fault.InvalidArgument || len(f.Fields) != 1 {
				t.Errorf("error %v\nwant  %s", err, c.want)
			}
		})
	}
}

func TestAnonymousCallersHaveNoMemories(t *testing.T) {
	r := newRig(t)
	for _, skill := range []string{a2aagent.Remember, a2aagent.Recall, a2aagent.Forget} {
		_, err := r.send(identity.Principal{}, skill, r.message("", `[{"data": {"text": "x", "query": "x", "all": true}}]`))
		if !fault.Is(err, fault.Unauthenticated) {
			t.Errorf("%s: error %v", skill, err)
		}
	}
}

func TestRoute(t *testing.T) {
	r := newRig(t)
	for parts, want := range map[string]string{
		`[{"data": {"text": "x"}}]`: a2aagent.Remember, `[{"data": {"query": "x"}}]`: a2aagent.Recall, `[{"text": "x"}]`: a2aagent.Recall,
		`[{"data": {"all": true}}]`: a2aagent.Forget, `[{"data": {"id": "x"}}]`: a2aagent.Forget, `[{"data": {"context": "x"}}]`: a2aagent.Forget,
	} {
		if got := r.agent.Route(&a2apb.SendMessageRequest{Message: r.message("", parts)}); got != want {
			t.Errorf("%s goes to %s, want %s", parts, got, want)
		}
	}
}
