package a2aagent_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"

	"sabha.dev/chassis/label"
)

// text is that of all parts of a task's artifacts, as if they were one.
func text(t *a2apb.Task) string {
	var b strings.Builder
	for _, a := range t.GetArtifacts() {
		for _, p := range a.GetParts() {
			b.WriteString(p.GetText())
		}
	}
	return b.String()
}

func TestATokenInChunksIsResolvedWhereverItIsSplit(t *testing.T) {
	r := onSQLite(t)
	whole := "dear " + token + ", hello"
	at := 0
	s := &scripted{on: func(string, map[string]any) any {
		head, rest := whole[:at], whole[at:]
		switch {
		case at%2 == 1: // the first piece in a snapshot of the task, as one sees who listens again
			return stream(map[string]any{"task": job("WORKING", "", "a", head)}, chunk("a", rest, true, true), update("COMPLETED", ""))
		case at%4 == 0: // the partner does not say which chunk is the last
			return stream(map[string]any{"task": job("WORKING", "")}, chunk("a", head, false, false), chunk("a", rest, true, false), update("COMPLETED", ""))
		}
		return stream(map[string]any{"task": job("WORKING", "")}, chunk("a", head, false, false), chunk("a", rest, true, true), update("COMPLETED", ""))
	}}
	r.agree("acme", "a2a stream", serve(t, s), lasting)
	p := r.start("p")
	for ; at <= len(whole); at++ {
		task := p.send(asks(fmt.Sprintf("m%d", at), "acme/do", "write to Ada")).GetTask()
		if got := text(task); got != "dear Ada, hello" || len(task.GetArtifacts()) != 1 {
			t.Errorf("%q | %q became %q in %d artifacts", whole[:at], whole[at:], got, len(task.GetArtifacts()))
		}
		if l := label.Of(task.GetArtifacts()[0].GetParts()...); l.Integrity != label.Untrusted {
			t.Errorf("split at %d the artifact is labelled %+v", at, l)
		}
	}
}

// An artifact comes as it is written, also where tokens are resolved in it.
func TestChunksWithTokensAreToldAsTheyCome(t *testing.T) {
	r := onSQLite(t)
	gate := make(chan struct{})
	s := &scripted{on: func(string, map[string]any) any {
		return stream(map[string]any{"task": job("WORKING", "")}, chunk("a", "dear "+token+" and "+token[:3], false, false), gate, chunk("a", token[3:]+"!", true, true), update("COMPLETED", ""))
	}}
	r.agree("acme", "a2a stream", serve(t, s), lasting)
	p := r.start("p")
	id := p.begin(asks("m1", "acme/do", "write to Ada"))
	r.soon("the first chunk is there", func() bool { return text(p.task(id)) == "dear Ada and " })
	close(gate)
	equal(t, "the artifact", text(p.comes(id, completed)), "dear Ada and Ada!")
}
