package command_test

import (
	"strings"
	"testing"

	"sabha.dev/chassis/fault"
	"sabha.dev/cmd/sabha/internal/rig"
)

func TestOperatorsActOnPlans(t *testing.T) {
	p := rig.Start(t, rig.Script{
		Retry: func(task, step string) error {
			if step != "a" {
				return fault.New(fault.UnsupportedOperation, "step %q is at work", step)
			}
			return nil
		},
		Fork: func(task, step string) (string, error) { return task + "-" + step, nil },
	})
	for _, c := range []struct {
		args, out, err string
		code           int
	}{
		{"task retry t1 a", "Step a of task t1 is tried again now.\n", "", 0},
		{"task retry t1 b", "", "step \"b\" is at work", 2},
		{"task retry t1", "", "", 2},
		{"task fork t1 b", "Task t1 begins again at step b.\nThe new task is t1-b\n", "", 0},
		{"task fork", "", "", 2},
	} {
		u := newUser(p.URL)
		if code := u.run(t.Context(), strings.Fields(c.args)...); int(code) != c.code {
			t.Errorf("%s: exit code %d, want %d: %s", c.args, code, c.code, u.err.String())
		}
		if got := u.out.String(); got != c.out || !strings.Contains(u.err.String(), c.err) {
			t.Errorf("%s: output\n%s%s", c.args, got, u.err.String())
		}
	}
	none := newUser(rig.Start(t, rig.Script{}).URL)
	if code := none.run(t.Context(), "task", "fork", "t9", "a"); code != 7 {
		t.Errorf("exit code %d: %s", code, none.err.String())
	}
}
