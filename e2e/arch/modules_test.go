package arch

import (
	"fmt"
	"path"
	"regexp"
	"strings"
)

var replacement = regexp.MustCompile(`(?m)^\s*(?:replace\s+)?(\S+)(?:\s+v\S+)?\s+=>\s+(\S+)`)

// moduleFaults finds a go.mod at the root, modules that the workspace lacks, and
// replacements of anything but our own modules by a relative path. tools and what is
// in it stand outside the workspace, so that their programs do not choose our versions.
func moduleFaults(files []file) []string {
	workspace := ""
	for _, f := range files {
		if f.path == "go.work" {
			workspace = f.text
		}
	}
	var found []string
	for _, f := range files {
		if path.Base(f.path) != "go.mod" {
			continue
		}
		folder := path.Dir(f.path)
		if folder == "." {
			found = append(found, "go.mod stands at the root; every module has its own folder")
			continue
		}
		used := strings.Contains(workspace, "./"+folder+"\n")
		tools := folder == "tools" || strings.HasPrefix(folder, "tools/")
		if tools && used {
			found = append(found, "go.work uses "+folder+", which pins programs and stays outside")
		}
		if !tools && !used {
			found = append(found, "go.work does not use ./"+folder)
		}
		for _, match := range replacement.FindAllStringSubmatch(f.text, -1) {
			if !strings.HasPrefix(match[1], "sabha.dev/") || !strings.HasPrefix(match[2], "../") {
				found = append(found, fmt.Sprintf("%s replaces %s by %s; only our own modules are, by a relative path", f.path, match[1], match[2]))
			}
		}
	}
	return found
}
