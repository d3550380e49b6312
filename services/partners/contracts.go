package partners

import (
	"fmt"
	"io"
	"os"

	"sabha.dev/services/partners/internal/contract"
)

// CheckContract reads a file of golden tasks and tells about it: what it asks, and where
// it is too small to find what it should. The error is that of a file that cannot be
// used, one problem a line with its place.
func CheckContract(path string, out io.Writer) error {
	raw, err := os.ReadFile(path) //nolint:gosec // what the caller asks for
	if err != nil {
		return err
	}
	s, err := contract.Parse(path, raw)
	if err != nil {
		return err
	}
	tasks := "1 golden task"
	if len(s.Tasks) != 1 {
		tasks = fmt.Sprintf("%d golden tasks", len(s.Tasks))
	}
	if _, err := fmt.Fprintf(out, "%s: partner %s is sound, %s, %d calls a run\n", path, s.Partner, tasks, s.Calls()); err != nil {
		return err
	}
	for _, n := range s.Notes {
		if _, err := fmt.Fprintf(out, "%s: note: %s\n", path, n); err != nil {
			return err
		}
	}
	return nil
}
