package service

import (
	"bytes"
	"fmt"
	"regexp"
)

var variable = regexp.MustCompile(`\$\{([^{}\n]*)\}`)

// expand puts the values of variables in the place of their ${NAME}, and says on
// which line one is named that is not set. Lines of comments stay as they are.
func expand(text []byte, lookup func(string) (string, bool)) ([]byte, error) {
	lines := bytes.SplitAfter(text, []byte("\n"))
	for i, line := range lines {
		if bytes.HasPrefix(bytes.TrimSpace(line), []byte("#")) {
			continue
		}
		missing := ""
		lines[i] = variable.ReplaceAllFunc(line, func(found []byte) []byte {
			name := string(variable.FindSubmatch(found)[1])
			value, ok := lookup(name)
			if !ok {
				missing = name
			}
			return []byte(value)
		})
		if missing != "" {
			return nil, fmt.Errorf("line %d: the environment variable %s is not set", i+1, missing)
		}
	}
	return bytes.Join(lines, nil), nil
}
