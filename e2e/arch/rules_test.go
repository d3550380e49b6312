// Package arch holds the layout of the repository as tests: which module may
// import which, how packages are named and documented, and what no file may hold.
package arch

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// maxLines is the length of the longest hand-written Go file that one reads in a sitting.
const maxLines = 500

// file is a file of the repository: its slash-separated path from the root, and its content.
type file struct {
	path string
	text string
}

// source is a parsed Go file.
type source struct {
	file
	tree      *ast.File
	generated bool
}

func (s source) isTest() bool { return strings.HasSuffix(s.path, "_test.go") }

// imports are the paths of the packages of our own that the file imports.
func (s source) imports() []string {
	var own []string
	for _, spec := range s.tree.Imports {
		name, err := strconv.Unquote(spec.Path.Value)
		if err == nil && strings.HasPrefix(name, "sabha.dev/") {
			own = append(own, strings.TrimPrefix(name, "sabha.dev/"))
		}
	}
	return own
}

// parse reads the Go files among the files.
func parse(files []file) ([]source, error) {
	var sources []source
	for _, f := range files {
		if path.Ext(f.path) != ".go" {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), f.path, f.text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		sources = append(sources, source{file: f, tree: tree, generated: ast.IsGenerated(tree)})
	}
	return sources, nil
}

// owner is the module a path belongs to: a service's own one, else the first folder.
func owner(name string) string {
	parts := strings.SplitN(name, "/", 3)
	if (parts[0] == "services" || parts[0] == "cmd") && len(parts) > 1 {
		return parts[0] + "/" + parts[1]
	}
	return parts[0]
}

// mayImport says whether code of one module may import a package of ours. Tests
// may import testrig wherever code may not.
func mayImport(importer, imported string, test bool) bool {
	from, to := owner(importer), owner(imported)
	if from == to {
		return true
	}
	switch {
	case from == "e2e" || from == "bench":
		return true
	case from == "examples": // programs that run the platform, as cmd does
		return strings.HasPrefix(to, "services/") || to == "cmd/sabha"
	case to == "testrig":
		return test && from != "gen"
	case from == "gen" || from == "testrig" || from == "playbooks":
		return false
	case to == "gen":
		return true
	case to == "playbooks": // embedded files, no code
		return from != "chassis"
	case to == "chassis":
		return from != "tools"
	case strings.HasPrefix(to, "services/"):
		return strings.HasPrefix(from, "cmd/")
	}
	return false
}

func forbiddenImports(sources []source) []string {
	var found []string
	for _, s := range sources {
		for _, imported := range s.imports() {
			if !mayImport(s.path, imported, s.isTest()) {
				found = append(found, fmt.Sprintf("%s imports sabha.dev/%s, which %s may not", s.path, imported, owner(s.path)))
			}
		}
	}
	return found
}

// undocumented finds packages without a package comment. That of a package which
// is only tests may stand in a test.
func undocumented(sources []source) []string {
	type state struct{ documented, handWritten, code bool }
	folders := map[string]*state{}
	for pass := range 2 { // code first, to know whether a folder has any
		for _, s := range sources {
			folder := path.Dir(s.path)
			if folders[folder] == nil {
				folders[folder] = &state{}
			}
			f := folders[folder]
			if pass == 0 {
				f.code = f.code || !s.isTest()
				f.handWritten = f.handWritten || !s.generated
				continue
			}
			if s.tree.Doc != nil && !(f.code && s.isTest()) {
				f.documented = true
			}
		}
	}
	var found []string
	for folder, f := range folders {
		if f.handWritten && !f.documented {
			found = append(found, folder+" has no package comment")
		}
	}
	slices.Sort(found)
	return found
}

// vague are package names that say nothing about what is inside.
var vague = []string{"util", "utils", "common", "helper", "helpers", "misc", "models"}

func vagueNames(sources []source) []string {
	var found []string
	for _, s := range sources {
		name := strings.TrimSuffix(s.tree.Name.Name, "_test")
		if slices.Contains(vague, name) {
			found = append(found, fmt.Sprintf("%s: package %s does not say what it is for", s.path, name))
		}
	}
	return found
}

func tooLong(sources []source) []string {
	var found []string
	for _, s := range sources {
		if lines := strings.Count(s.text, "\n"); lines > maxLines && !s.generated {
			found = append(found, fmt.Sprintf("%s has %d lines, more than %d", s.path, lines, maxLines))
		}
	}
	return found
}

// initFunctions finds registration behind the reader's back.
func initFunctions(sources []source) []string {
	var found []string
	for _, s := range sources {
		for _, declaration := range s.tree.Decls {
			f, ok := declaration.(*ast.FuncDecl)
			if ok && f.Recv == nil && f.Name.Name == "init" && !s.generated {
				found = append(found, s.path+" has an init function; pass in what it sets up")
			}
		}
	}
	return found
}

// private matches what belongs to the machine a file was written on: folders of
// its user, and hosts that only name where packages were fetched.
var private = regexp.MustCompile(`(^|[^\w.-])/(work|root|farm)/|proxy\.golang\.org|registry\.npmjs\.org|deb\.debian\.org`)

func machineWords(files []file) []string {
	var found []string
	for _, f := range files {
		number := 0
		for line := range strings.Lines(f.text) {
			number++
			if word := private.FindString(line); word != "" {
				found = append(found, fmt.Sprintf("%s:%d names %q", f.path, number, strings.TrimSpace(word)))
			}
		}
	}
	return found
}
