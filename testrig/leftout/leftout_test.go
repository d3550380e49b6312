package leftout_test

import (
	"fmt"
	"runtime"
	"testing"

	"sabha.dev/testrig/leftout"
)

// recorder is a test that notes how it ended.
type recorder struct {
	testing.TB
	outcome string
}

func (r *recorder) Helper() {}

func (r *recorder) Fatalf(format string, args ...any) {
	r.outcome = "failed: " + fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func (r *recorder) Skipf(format string, args ...any) {
	r.outcome = "skipped: " + fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// outcome runs a test function the way the testing package does.
func outcome(test func(testing.TB)) string {
	r := &recorder{outcome: "passed"}
	done := make(chan struct{})
	go func() {
		defer close(done)
		test(r)
	}()
	<-done
	return r.outcome
}

func TestMissingProgram(t *testing.T) {
	needsGhost := func(tb testing.TB) { leftout.Program(tb, "no-such-program", "install the ghost package") }
	needsGo := func(tb testing.TB) { leftout.Program(tb, "go", "install Go") }
	for _, c := range []struct {
		name, ci string
		test     func(testing.TB)
		want     string
	}{
		{"on a developer's machine", "", needsGhost, "skipped: left out: the program no-such-program is missing: install the ghost package"},
		{"in continuous integration", "true", needsGhost, "failed: the program no-such-program is missing: install the ghost package; with CI=true nothing may be left out"},
		{"present", "true", needsGo, "passed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("CI", c.ci)
			if got := outcome(c.test); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
