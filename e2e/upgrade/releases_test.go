//go:build slow

// Package upgrade replaces a release of the platform by the next while it works, as
// operators do: programs of their own over one PostgreSQL database.
package upgrade

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// root is the repository.
const root = "../.."

// firstRelease is the summary of the commit since which plans keep the text of their
// playbook (decision 44): the oldest release that can run beside newer ones.
const firstRelease = "Keep with every plan the playbook that it began with"

// services in the order in which they are started.
var services = []string{"security", "memory", "validator", "research", "planner", "gateway"}

// oldRelease builds the programs of the first release.
func oldRelease(t *testing.T) (bin string) {
	t.Helper()
	source := t.TempDir()
	commit := strings.TrimSpace(git(t, "log", "--format=%H", "--fixed-strings", "--grep="+firstRelease))
	if commit == "" {
		t.Fatalf("no commit %q: the old release is built from the history of the repository, which must be whole", firstRelease)
	}
	unpack(t, strings.NewReader(git(t, "archive", commit)), source)
	return build(t, source)
}

// nextRelease builds the programs of this tree with one further migration in every
// component, and with another version of the general playbook in the place of the
// present one: those of a release to come.
func nextRelease(t *testing.T) (bin string) {
	t.Helper()
	dir := t.TempDir()
	replace := map[string]string{}
	for folder, table := range map[string]string{
		"chassis/taskstore": "tasks", "services/memory": "memories", "services/research": "documents", "services/planner": "plan_steps",
		"services/security": "findings", "services/gateway": "api_keys",
	} {
		file := filepath.Join(dir, strings.ReplaceAll(folder, "/", "_")+".sql")
		text := fmt.Sprintf(`-- +goose Up
CREATE TABLE next_of_%[1]s (id BIGINT NOT NULL PRIMARY KEY);
ALTER TABLE %[1]s ADD COLUMN next_note TEXT;
ALTER TABLE %[1]s ADD COLUMN next_count BIGINT NOT NULL DEFAULT 7;
CREATE INDEX next_index_of_%[1]s ON %[1]s (next_count);
`, table)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		where, err := filepath.Abs(filepath.Join(root, folder, "migrations", "90001_next.sql"))
		if err != nil {
			t.Fatal(err)
		}
		replace[where] = file
	}
	book := nextPlaybook(t)
	where, err := filepath.Abs(filepath.Join(root, "playbooks", "general.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	replace[where] = filepath.Join(dir, "general.yaml")
	if err := os.WriteFile(replace[where], []byte(book), 0o600); err != nil {
		t.Fatal(err)
	}
	overlay := filepath.Join(dir, "overlay.json")
	raw, err := json.Marshal(map[string]any{"Replace": replace})
	if err == nil {
		err = os.WriteFile(overlay, raw, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return build(t, root, "-overlay", overlay)
}

// nextVersion is the general playbook's in the next release.
const nextVersion = "9000"

// nextPlaybook is the general playbook with another number and a step of another name,
// which a planner that knew only the number's place in a list would not find.
func nextPlaybook(t *testing.T) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(root, "playbooks", "general.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	text := regexp.MustCompile(`(?m)^version: .*$`).ReplaceAllString(string(raw), "version: "+nextVersion)
	return strings.NewReplacer("- id: recall", "- id: remembered", "steps.recall.", "steps.remembered.").Replace(text)
}

func build(t *testing.T, source string, more ...string) (bin string) {
	t.Helper()
	bin = t.TempDir()
	args := append(append([]string{"build"}, more...), "-o", bin+"/")
	for _, s := range services {
		args = append(args, "./services/"+s+"/cmd/"+s)
	}
	c := exec.CommandContext(t.Context(), "go", args...)
	c.Dir, c.Env = source, append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-buildvcs=false")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return bin
}

func git(t *testing.T, args ...string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), "git", args...)
	var said bytes.Buffer
	c.Dir, c.Stderr = root, &said
	out, err := c.Output()
	if err != nil {
		t.Fatalf("git %s: %v\n%s\nThe old release is built from the history of the repository, which must be whole.", strings.Join(args, " "), err, &said)
	}
	return string(out)
}

func unpack(t *testing.T, archive io.Reader, dir string) {
	t.Helper()
	for files := tar.NewReader(archive); ; {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Join(dir, filepath.FromSlash(header.Name))
		switch header.Typeflag {
		case tar.TypeDir:
			err = os.MkdirAll(name, 0o750)
		case tar.TypeReg:
			var text []byte
			if text, err = io.ReadAll(files); err == nil {
				err = os.WriteFile(name, text, 0o600)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
