package a2aagent_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/identity"
	"sabha.dev/services/memory/internal/a2aagent"
)

func TestAFactComesWithWhatItTookThePlaceOf(t *testing.T) {
	r := newRig(t)
	r.ask(alice, a2aagent.Remember, "c1", `[{"data": {"fact": {"subject": "customer 7", "predicate": "prefers", "value": "letters", "source": "crm"}}}]`)
	r.clock.Advance(time.Minute)
	got := r.ask(alice, a2aagent.Remember, "", `[{"data": {"fact": {"subject": "Customer 7", "predicate": "prefers", "value": "calls"}}}]`)
	if got["kind"] != "fact" || got["superseded"] != 1.0 {
		t.Errorf("%v", got)
	}
	list := r.ask(alice, a2aagent.Recall, "", `[{"data": {"query": "what does customer 7 prefer, letters or calls?"}}]`)["memories"].([]any)
	if len(list) != 1 {
		t.Fatalf("%v", list)
	}
	m := list[0].(map[string]any)
	earlier := m["supersedes"].([]any)[0].(map[string]any)
	if m["text"] != "Customer 7 prefers calls" || earlier["value"] != "letters" || earlier["source"] != "crm" {
		t.Errorf("%v", m)
	}
}

func TestEpisodesAreRecalledWhenAskedFor(t *testing.T) {
	r := newRig(t)
	r.ask(alice, a2aagent.Remember, "c1", `[{"data": {"episode": {"plan": "mortgage-offer", "outcome": "completed", "seconds": 42,
		"steps": [{"name": "rate", "agent": "partners", "skill": "underwrite", "outcome": "completed", "seconds": 30}], "approved": ["the offer"]}}}]`)
	if got := r.texts(alice, "c1", `[{"text": "mortgage"}]`); got != "" {
		t.Errorf("an episode among the notes: %q", got)
	}
	list := r.ask(alice, a2aagent.Recall, "", `[{"data": {"query": "underwrite", "kind": "episode"}}]`)["memories"].([]any)
	if len(list) != 1 {
		t.Fatalf("%v", list)
	}
	e := list[0].(map[string]any)["episode"].(map[string]any)
	if e["plan"] != "mortgage-offer" || e["seconds"] != 42.0 || fmt.Sprint(e["approved"]) != "[the offer]" {
		t.Errorf("%v", e)
	}
}

func TestAnOrganisationRemembersByScope(t *testing.T) {
	r := newRig(t)
	_, err := r.send(alice, a2aagent.Remember, r.message("", `[{"data": {"text": "We close at Christmas.", "scope": "organisation"}}]`))
	if reason(err) != fault.PermissionDenied {
		t.Errorf("%v", err)
	}
	clerk := identity.Principal{Subject: "clerk", Organisation: "acme", Scopes: []string{a2aagent.OrganisationScope}}
	r.ask(clerk, a2aagent.Remember, "c1", `[{"data": {"text": "We close at Christmas.", "scope": "organisation"}}]`)
	if got := r.texts(alice, "c9", `[{"text": "christmas"}]`); got != "We close at Christmas." {
		t.Errorf("%q", got)
	}
	for _, stranger := range []identity.Principal{{Subject: "eve", Organisation: "other"}, {Subject: "eve"}} {
		if got := r.texts(stranger, "", `[{"text": "christmas"}]`); got != "" {
			t.Errorf("%s recalls %q", stranger.Key(), got)
		}
	}
	if got := r.ask(alice, a2aagent.Forget, "", `[{"data": {"all": true}}]`); got["forgotten"] != 0.0 {
		t.Errorf("alice forgot %v of the organisation's", got)
	}
	if got := r.ask(clerk, a2aagent.Forget, "", `[{"data": {"all": true, "scope": "organisation"}}]`); got["forgotten"] != 1.0 {
		t.Errorf("%v", got)
	}
}

func TestExportHasEverythingHeldAboutTheCaller(t *testing.T) {
	r := newRig(t)
	r.ask(alice, a2aagent.Remember, "c1", `[{"data": {"text": "Noted in a context.", "ttl_seconds": 60}}]`)
	r.ask(alice, a2aagent.Remember, "", `[{"data": {"text": "Kept for long.", "tags": ["x"]}}]`)
	r.ask(alice, a2aagent.Remember, "", `[{"data": {"text": "kept for long"}}]`)
	r.ask(bob, a2aagent.Remember, "", `[{"data": {"text": "Not hers."}}]`)
	list := r.ask(alice, a2aagent.Export, "", `[{"data": {}}]`)["memories"].([]any)
	var got []string
	for _, m := range list {
		m := m.(map[string]any)
		got = append(got, fmt.Sprint(m["text"], " ", m["context"], " ", m["expires_at"], " ", len(m["tellings"].([]any))))
	}
	want := []string{"Noted in a context. c1 2026-05-04T12:01:00Z 1", "Kept for long. <nil> <nil> 2"}
	if !sameSet(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if _, err := r.send(identity.Principal{}, a2aagent.Export, r.message("", `[{"data": {}}]`)); reason(err) != fault.Unauthenticated {
		t.Errorf("%v", err)
	}
}

func sameSet(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	joined := "\n" + strings.Join(a, "\n") + "\n"
	for _, s := range b {
		if !strings.Contains(joined, "\n"+s+"\n") {
			return false
		}
	}
	return true
}

func TestBadFactsAndEpisodes(t *testing.T) {
	r := newRig(t)
	for parts, want := range map[string]string{
		`[{"data": {"fact": {"subject": "x", "predicate": "is"}}}]`:                                    "message.parts[0].data.fact.value",
		`[{"data": {"fact": {"subject": "x", "predicate": "is", "value": "y", "confidence": 2}}}]`:     "message.parts[0].data.fact.confidence",
		`[{"data": {"fact": {"subject": "x", "predicate": "is", "value": "y", "at": "yesterday"}}}]`:   "message.parts[0].data.fact.at",
		`[{"data": {"fact": {"subject": "x", "predicate": "is", "value": "y"}, "text": "z"}}]`:         "message.parts[0].data",
		`[{"data": {"fact": {"subject": "x", "predicate": "is", "value": "y"}, "kind": "long_term"}}]`: "message.parts[0].data.kind",
		`[{"data": {"text": "z", "kind": "episode"}}]`:                                                 "message.parts[0].data.episode",
		`[{"data": {"episode": {"plan": "p"}}}]`:                                                       "message.parts[0].data.episode",
		`[{"data": {"text": "z", "scope": "world"}}]`:                                                  "message.parts[0].data.scope",
	} {
		_, err := r.send(alice, a2aagent.Remember, r.message("", parts))
		var f *fault.Error
		if !errors.As(err, &f) || f.Reason != fault.InvalidArgument || len(f.Fields) != 1 || f.Fields[0].Path != want {
			t.Errorf("%s: %+v, want one about %s", parts, err, want)
		}
	}
}

func reason(err error) fault.Reason {
	var f *fault.Error
	if errors.As(err, &f) {
		return f.Reason
	}
	return ""
}
