package planner

import (
	"os"
	"path/filepath"
	"testing"

	"sabha.dev/services/planner/playbook"
)

// What a plan says of its playbook's file reaches the client, who must not learn where it is.
func TestAFileIsNamedWithoutWhereItIs(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "books")
	if err := os.Mkdir(dir, 0o750); err != nil {
		t.Fatal(err)
	}
	text := "playbook: own\nversion: 1\nsteps:\n  - {id: find, agent: research, skill: search}\noutput: {text: found}\n"
	if err := os.WriteFile(filepath.Join(dir, "own.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	books, err := library(dir, playbook.Personas())
	if err != nil {
		t.Fatal(err)
	}
	own, ok := books.Latest("own")
	if !ok || own.File != "books/own.yaml" {
		t.Errorf("%v: %+v", ok, own)
	}
}
