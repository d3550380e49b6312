package playbook

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the expected problems of testdata/bad anew")

// TestBadFilesNameEveryProblem compares what a user sees for each file in testdata/bad with the
// .txt file beside it.
func TestBadFilesNameEveryProblem(t *testing.T) {
	files, err := filepath.Glob("testdata/bad/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no test files: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			book, err := Parse(filepath.Base(file), data, Personas())
			if err == nil {
				t.Fatalf("accepted: %+v", book)
			}
			var problems Problems
			if !errors.As(err, &problems) {
				t.Fatalf("the error is %T, not Problems", err)
			}
			golden := strings.TrimSuffix(file, ".yaml") + ".txt"
			got := err.Error() + "\n"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}
