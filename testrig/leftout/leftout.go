// Package leftout is the one way in which a test is left out: because a program
// is missing on the machine, said aloud, and never in continuous integration.
package leftout

import (
	"os"
	"os/exec"
	"testing"
)

// Because ends the test: it is left out with the reason, which `make test`
// prints at its end. With the environment variable CI set to true it fails instead.
func Because(tb testing.TB, reason string) {
	tb.Helper()
	if os.Getenv("CI") == "true" {
		tb.Fatalf("%s; with CI=true nothing may be left out", reason)
	}
	tb.Skipf("left out: %s", reason)
}

// Program returns the path of a program that the test needs, or leaves the test
// out with what is missing and what to install.
func Program(tb testing.TB, name, install string) string {
	tb.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		Because(tb, "the program "+name+" is missing: "+install)
	}
	return path
}
