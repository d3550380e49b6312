package docs

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sabha.dev/services/planner/playbook"
)

func TestCodeInDocumentsIsAFileThatIsTested(t *testing.T) {
	found := 0
	for _, d := range documents(t) {
		for _, b := range d.blocks() {
			if b.language != "go" && b.language != "js" {
				continue
			}
			found++
			if b.file == "" {
				t.Errorf("%s:%d: say which file this is with <!-- file: PATH --> before the code, so that it is tested", d.path, b.number)
				continue
			}
			want, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(b.file)))
			if err != nil {
				t.Errorf("%s:%d: %v", d.path, b.number, err)
			} else if b.text != string(want) {
				t.Errorf("%s:%d is not what %s has; copy it again", d.path, b.number, b.file)
			}
		}
	}
	if found == 0 {
		t.Error("no code was found")
	}
}

func TestJSONInDocumentsIsJSON(t *testing.T) {
	found := 0
	for _, d := range documents(t) {
		for _, b := range d.blocks() {
			if b.language != "json" {
				continue
			}
			found++
			if !json.Valid([]byte(b.text)) {
				t.Errorf("%s:%d is not JSON", d.path, b.number)
			}
		}
	}
	if found == 0 {
		t.Error("no JSON was found")
	}
}

// playbooks finds those in a block: the whole of it, or what a command writes
// into a file.
func playbooks(b block) []string {
	if b.language == "yaml" {
		if strings.HasPrefix(b.text, "playbook:") {
			return []string{b.text}
		}
		return nil
	}
	var all []string
	rest := b.text
	for {
		_, after, ok := strings.Cut(rest, "<<'EOF'\n")
		if !ok {
			return all
		}
		text, more, _ := strings.Cut(after, "\nEOF\n")
		if strings.HasPrefix(text, "playbook:") {
			all = append(all, text+"\n")
		}
		rest = more
	}
}

func TestPlaybooksInDocumentsAreSound(t *testing.T) {
	catalog := playbook.Personas()
	catalog["rates"] = []string{"convert", "list"} // of the agent author's guide
	found := 0
	for _, d := range documents(t) {
		for _, b := range d.blocks() {
			for _, text := range playbooks(b) {
				found++
				if _, err := playbook.Parse(d.path, []byte(text), catalog); err != nil {
					t.Errorf("%s, the block of line %d: %v", d.path, b.number, err)
				}
			}
		}
	}
	if found < 2 {
		t.Errorf("only %d playbooks were found", found)
	}
}
