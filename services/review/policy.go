package review

import (
	"fmt"
	"io"
	"os"

	"sabha.dev/services/review/internal/policy"
)

// CheckPolicy reads a policy file and tells about it: its version, queues and
// whether its review is past. The error is that of a file that cannot be used, one
// problem a line with its place.
func CheckPolicy(path string, out io.Writer) error {
	raw, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	p, err := policy.Parse(path, raw)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%s: version %s of %s is good; queues: %d\n", path, p.Version, p.Owner, len(p.Queues))
	return err
}

// Command is the program of the service: check-policy FILE, or what run does with
// the other commands. It returns the exit code.
func Command(args []string, out io.Writer, run func([]string) int) int {
	if len(args) < 2 || args[1] != "check-policy" {
		return run(args)
	}
	if len(args) != 3 {
		_, _ = fmt.Fprintln(out, "usage: check-policy FILE")
		return 2
	}
	if err := CheckPolicy(args[2], out); err != nil {
		_, _ = fmt.Fprintln(out, err)
		return 1
	}
	return 0
}
