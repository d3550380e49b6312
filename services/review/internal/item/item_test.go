package item_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/identity"
	reviewv1 "sabha.dev/gen/sabha/review/v1"
	"sabha.dev/services/review/internal/item"
)

var noon = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

func person(name string, scopes ...string) item.Person {
	return item.PersonOf(identity.Principal{Subject: name, Organisation: "acme", Scopes: scopes})
}

func reviewer(name string) item.Person { return person(name, "reviewer", "group:lending") }

func snapshot() *item.Snapshot {
	return &item.Snapshot{
		Kind: "result", Title: "An answer", Content: json.RawMessage(`{"answer":"yes","limit":100}`), Effect: "It is given out.",
		Product: "loans", Risk: "low", Playbook: "answers", Step: "approve",
	}
}

func open(t *testing.T, change ...func(*item.Terms)) *item.Item {
	t.Helper()
	s := snapshot()
	_, digest, err := s.Encode()
	if err != nil {
		t.Fatal(err)
	}
	terms := item.Terms{Queue: "lending", Groups: []string{"lending"}, Approvals: 1, ClaimFor: 30 * time.Minute, DueAt: noon.Add(4 * time.Hour)}
	for _, c := range change {
		c(&terms)
	}
	i, _ := item.New(item.Origin{ID: "i1", Requester: "acme/ada", CreatedAt: noon}, s, digest, terms)
	return i
}

// after applies a change that has to be allowed.
func after(t *testing.T) func(*item.Change, error) *item.Item {
	return func(c *item.Change, err error) *item.Item {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		if c.After.Version != c.Before+1 {
			t.Errorf("version %d after %d", c.After.Version, c.Before)
		}
		return c.After
	}
}

func reason(err error) string {
	if f := fault.As(err); f != nil {
		return string(f.Reason)
	}
	return ""
}

func TestWhoMayDecide(t *testing.T) {
	held := after(t)(open(t).Claim(reviewer("rosa"), noon))
	half := after(t)(open(t, func(t *item.Terms) { t.Approvals = 2 }).Decide(reviewer("rosa"), item.Verdict{Digest: open(t).Digest, Approve: true}, noon))
	for _, c := range []struct {
		name string
		i    *item.Item
		p    item.Person
		want string
	}{
		{"a reviewer of the group", open(t), reviewer("rosa"), ""},
		{"an admin of the group", open(t), person("adam", "admin", "group:lending"), ""},
		{"a reviewer of another group", open(t), person("rosa", "reviewer", "group:legal"), "it is for the group lending, and you are not in it"},
		{"an operator", open(t), person("olga", "operator", "group:lending"), "deciding needs the scope reviewer or admin"},
		{"nobody", open(t), item.PersonOf(identity.Principal{Scopes: []string{"reviewer"}}), "deciding needs the scope reviewer or admin"},
		{"who asked", open(t), reviewer("ada"), "you asked for it yourself, and somebody else has to decide"},
		{"who asked, where the policy lets them", open(t, func(t *item.Terms) { t.RequesterMayDecide = true }), reviewer("ada"), ""},
		{"anybody who reviews, of a queue without groups", open(t, func(t *item.Terms) { t.Groups = nil }), person("rosa", "reviewer"), ""},
		{"who holds it", held, reviewer("rosa"), ""},
		{"another while it is held", held, reviewer("lena"), "acme/rosa holds it until 2026-05-04T12:30:00Z"},
		{"who has approved it", half, reviewer("rosa"), "you have approved it already, and another person has to as well"},
		{"the second of two", half, reviewer("lena"), ""},
	} {
		if got := c.i.MayNot(c.p, noon); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		_, err := c.i.Claim(c.p, noon)
		if (err == nil) != (c.want == "") {
			t.Errorf("%s: the claim says %v", c.name, err)
		}
	}
}

func TestAClaimIsRenewedRunsOutAndIsHandedOver(t *testing.T) {
	i := after(t)(open(t).Claim(reviewer("rosa"), noon))
	i = after(t)(i.Claim(reviewer("rosa"), noon.Add(20*time.Minute)))
	if got := i.HolderAt(noon.Add(49 * time.Minute)); got != "acme/rosa" {
		t.Errorf("after the renewal %q holds it", got)
	}
	if _, err := i.Release(reviewer("lena"), "", noon.Add(21*time.Minute)); reason(err) != "ITEM_HELD" {
		t.Errorf("released by another: %v", err)
	}
	if _, err := i.Reassign(reviewer("lena"), "acme/lena", nil, "", noon.Add(21*time.Minute)); reason(err) != "NOT_PERMITTED" {
		t.Errorf("taken by another: %v", err)
	}
	if _, err := i.Reassign(person("olga", "operator"), "acme/ada", nil, "", noon); reason(err) != "INVALID_ARGUMENT" {
		t.Errorf("handed to who asked: %v", err)
	}
	c, err := i.Reassign(person("olga", "operator"), "acme/lena", nil, "on leave", noon.Add(22*time.Minute))
	i = after(t)(c, err)
	if got := i.HolderAt(noon.Add(51 * time.Minute)); got != "acme/lena" || c.Events[0].Note != "to acme/lena: on leave" {
		t.Errorf("%q holds it: %v", got, c.Events)
	}
	i = after(t)(i.Release(reviewer("lena"), "", noon.Add(23*time.Minute)))
	if _, err := i.Release(reviewer("lena"), "", noon.Add(23*time.Minute)); reason(err) != "NOT_PERMITTED" {
		t.Errorf("released twice: %v", err)
	}
	if c, err := i.Decide(reviewer("rosa"), item.Verdict{Digest: i.Digest, Approve: true}, noon); err != nil || c.After.Holder != "" {
		t.Errorf("a decision without a claim: %v %v", c, err)
	}
}

func TestAnAnswerMovesTheDueTimeAndTheDigest(t *testing.T) {
	i := open(t, func(t *item.Terms) { t.ExpiresAt = noon.Add(24 * time.Hour) })
	before := *i
	c, err := i.Ask(reviewer("rosa"), " For how long? ", noon)
	i = after(t)(c, err)
	if i.State != reviewv1.State_STATE_ASKED || c.Exchange.Question != "For how long?" || c.Exchange.Number != 1 {
		t.Fatalf("asked: %+v %+v", i, c.Exchange)
	}
	if _, err := before.Ask(reviewer("rosa"), " ", noon); reason(err) != "INVALID_ARGUMENT" {
		t.Errorf("an empty question: %v", err)
	}
	c = i.Answer(c.Exchange, "Ten years.", noon.Add(2*time.Hour))
	i = after(t)(c, nil)
	if i.State != reviewv1.State_STATE_OPEN || i.Messages != 2 || !i.DueAt.Equal(before.DueAt.Add(2*time.Hour)) || !i.ExpiresAt.Equal(before.ExpiresAt) ||
		i.Digest == before.Digest || i.HolderAt(noon.Add(2*time.Hour)) != "acme/rosa" || c.Exchange.Answer != "Ten years." || c.Exchange.AskedBy != "acme/rosa" {
		t.Errorf("answered: %+v %+v", i, c.Exchange)
	}
	c = i.Answer(nil, "And hurry.", noon.Add(3*time.Hour))
	if c.Exchange.Number != 2 || c.Exchange.AskedBy != "" || !c.After.DueAt.Equal(i.DueAt) || c.After.Digest == i.Digest {
		t.Errorf("a remark: %+v %+v", c.After, c.Exchange)
	}
}

func TestThePolicyEscalatesAndEnds(t *testing.T) {
	i := open(t)
	i = after(t)(i.Apply(item.Step{Escalate: true, Groups: []string{"lending", "chiefs"}, Priority: 1, Note: "late", Next: noon.Add(time.Hour)}, noon), nil)
	if i.Escalations != 1 || i.Priority != 1 || i.MayNot(person("cora", "reviewer", "group:chiefs"), noon) != "" || !i.Next.Equal(noon.Add(time.Hour)) {
		t.Errorf("escalated: %+v", i)
	}
	c := i.Apply(item.Step{End: reviewv1.State_STATE_EXPIRED, Reason: "too late"}, noon)
	if i = c.After; i.Outcome() != "expired" || i.OutcomeReason != "too late" || c.Events[0].What != "expired" || c.Events[0].By != "policy" {
		t.Errorf("ended: %+v %v", i, c.Events)
	}
	if _, err := i.Claim(reviewer("rosa"), noon); reason(err) != "ITEM_DECIDED" || !strings.Contains(err.Error(), "too late") {
		t.Errorf("claimed afterwards: %v", err)
	}
	if i.Cancel(noon) != nil {
		t.Error("what has ended is canceled")
	}
}

func TestTheDigestIsOfEverythingShown(t *testing.T) {
	_, digest, err := snapshot().Encode()
	if err != nil {
		t.Fatal(err)
	}
	same := snapshot()
	same.Content = json.RawMessage(" { \"limit\": 1e2,\n \"answer\": \"yes\" } ")
	if _, d, err := same.Encode(); err != nil || d != digest {
		t.Errorf("the same content in another form has another digest: %v", err)
	}
	score := 0.5
	for name, change := range map[string]func(*item.Snapshot){
		"content": func(s *item.Snapshot) { s.Content = json.RawMessage(`{"answer":"no","limit":100}`) },
		"schema":  func(s *item.Snapshot) { s.Schema = json.RawMessage(`{}`) }, "effect": func(s *item.Snapshot) { s.Effect = "It is kept." },
		"reasons": func(s *item.Snapshot) { s.Reasons = []string{"low"} }, "confidence": func(s *item.Snapshot) { s.Confidence = &score },
		"sources": func(s *item.Snapshot) { s.Sources = []item.Source{{Text: "so"}} }, "labels": func(s *item.Snapshot) { s.Labels = json.RawMessage(`{"a":1}`) },
		"request": func(s *item.Snapshot) { s.Request = "May I?" }, "plan": func(s *item.Snapshot) { s.Plan = json.RawMessage(`{}`) },
		"context": func(s *item.Snapshot) { s.Context = json.RawMessage(`{}`) }, "kind": func(s *item.Snapshot) { s.Kind = "action" },
		"title": func(s *item.Snapshot) { s.Title = "Another" }, "risk": func(s *item.Snapshot) { s.Risk = "high" }, "product": func(s *item.Snapshot) { s.Product = "cards" },
		"playbook": func(s *item.Snapshot) { s.Playbook = "x" }, "step": func(s *item.Snapshot) { s.Step = "x" },
	} {
		s := snapshot()
		change(s)
		if _, d, err := s.Encode(); err != nil || d == digest {
			t.Errorf("%s is not in the digest: %v", name, err)
		}
	}
}

func TestABatchHasOneForm(t *testing.T) {
	key := func(content, step string) string {
		s := snapshot()
		s.Content, s.Step = json.RawMessage(content), step
		return s.BatchKey()
	}
	base := key(`{"answer":"yes","limit":1,"list":[1,2]}`, "approve")
	for _, c := range []struct {
		content, step string
		same          bool
	}{
		{`{"list":[7],"limit":2,"answer":"no"}`, "approve", true},
		{`{"answer":"yes","limit":"1","list":[1,2]}`, "approve", false},
		{`{"answer":"yes","list":[1,2]}`, "approve", false},
		{`{"answer":"yes","limit":1,"list":["a"]}`, "approve", false},
		{`{"answer":"yes","limit":1,"list":[1,2]}`, "check", false},
	} {
		if same := key(c.content, c.step) == base; same != c.same {
			t.Errorf("%s of %s: %v", c.content, c.step, same)
		}
	}
}

func TestAnEditKeepsToTheSchemaOrTheType(t *testing.T) {
	for _, c := range []struct{ schema, edited, want string }{
		{"", `{"other":1}`, ""},
		{"", `"yes"`, "edited: is a string; the content is an object, and an edit keeps the type"},
		{`{"required":["answer"],"properties":{"limit":{"maximum":100}}}`, `{"answer":"no","limit":5}`, ""},
		{`{"required":["answer"],"properties":{"limit":{"maximum":100}}}`, `{"answer":"no","limit":101}`, "the edited content does not keep to its schema: edited/limit maximum: got 101, want 100"},
		{`{"required":["answer"]}`, `{}`, "the edited content does not keep to its schema: edited missing property 'answer'"},
	} {
		s := snapshot()
		if c.schema != "" {
			s.Schema = json.RawMessage(c.schema)
		}
		got := ""
		if err := s.CheckEdit(json.RawMessage(c.edited)); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s against %s: %q, want %q", c.edited, c.schema, got, c.want)
		}
	}
	if err := item.CheckSchema(json.RawMessage(`{"$ref":"file:///etc/passwd"}`)); err == nil || strings.Contains(err.Error(), "sabha:") {
		t.Errorf("a schema that refers to a file: %v", err)
	}
}
