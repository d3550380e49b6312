package ledger_test

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"sabha.dev/e2e/chaos/ledger"
)

func TestEntriesAreReadAsTheyWereWritten(t *testing.T) {
	name := filepath.Join(t.TempDir(), "ledger")
	if got, err := ledger.Read(name); err != nil || got != nil {
		t.Errorf("a ledger that does not exist: %v, %v", got, err)
	}
	want := []ledger.Entry{
		{Began: time.Unix(0, 1234567890123456789), PID: 7, Skill: "work", Message: "t1/a/0/0"},
		{Began: time.Unix(0, 1234567890123456790), PID: 8, Skill: "park", Phase: "end", Message: "t1/b/1/2/undo"},
	}
	for _, e := range want { // each through a file of its own, as processes do
		f, err := ledger.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Append(e); err != nil {
			t.Fatal(err)
		}
	}
	got, err := ledger.Read(name)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, %v\nwant %v", got, err, want)
	}
	for i, w := range []struct {
		task, step string
		undo       bool
	}{{"t1", "a", false}, {"t1", "b", true}} {
		if task, step, undo := got[i].Step(); task != w.task || step != w.step || undo != w.undo {
			t.Errorf("%s is %s %s %v", got[i].Message, task, step, undo)
		}
	}
	if err := os.WriteFile(name, []byte("half a li"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ledger.Read(name); err == nil {
		t.Error("a broken line was read")
	}
}
