package arch

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sabha.dev/testrig/leftout"
)

// root is the folder with go.work, seen from this package.
const root = "../.."

// repository reads the text files that git tracks or would add.
func repository(t *testing.T) []file {
	t.Helper()
	git := leftout.Program(t, "git", "install git")
	list := exec.Command(git, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		leftout.Because(t, "the files are not in a git checkout: "+err.Error())
	}
	var files []file
	for _, name := range strings.Split(strings.TrimRight(string(out), "\x00"), "\x00") {
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		if errors.Is(err, fs.ErrNotExist) {
			continue // deleted, and git has not been told
		}
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.ContainsRune(text[:min(len(text), 8000)], 0) { // git's own test for a binary file
			files = append(files, file{path: name, text: string(text)})
		}
	}
	return files
}

func TestRepository(t *testing.T) {
	files := repository(t)
	sources, err := parse(files)
	if err != nil {
		t.Fatal(err)
	}
	if len(sources) == 0 {
		t.Fatal("no Go file was found")
	}
	for _, rule := range []struct {
		name  string
		found []string
	}{
		{"modules import only what they may", forbiddenImports(sources)},
		{"packages have a comment", undocumented(sources)},
		{"packages are named for what they do", vagueNames(sources)},
		{"files can be read in a sitting", tooLong(sources)},
		{"nothing registers itself", initFunctions(sources)},
		{"files name nothing of the machine they were written on", machineWords(files)},
		{"modules follow the layout", moduleFaults(files)},
	} {
		t.Run(rule.name, func(t *testing.T) {
			for _, fault := range rule.found {
				t.Error(fault)
			}
		})
	}
}
