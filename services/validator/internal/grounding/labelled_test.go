package grounding

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

type labelled struct {
	Sets map[string][]struct {
		ID       string   `yaml:"id"`
		Document string   `yaml:"document"`
		Headings []string `yaml:"heading_path"`
		Text     string   `yaml:"text"`
	} `yaml:"sets"`
	Cases []struct {
		Name, Kind, Set, Answer string
		Verdict                 Verdict
		Clear                   bool
	} `yaml:"cases"`
}

func load(t *testing.T, file string) labelled {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	var l labelled
	if err := yaml.Unmarshal(raw, &l); err != nil {
		t.Fatal(err)
	}
	return l
}

func (l labelled) passages(set string) []Passage {
	var out []Passage
	for _, p := range l.Sets[set] {
		out = append(out, Passage{ID: p.ID, Document: p.Document, HeadingPath: p.Headings, End: len(p.Text), Text: p.Text})
	}
	return out
}

// passes tells whether a verdict lets a claim through.
func passes(v Verdict) bool { return v == Supported || v == Uncited }

// TestEvalLabelledClaims asserts the verdicts of clear cases one by one, and for all
// cases of a file together what was measured. Two rates are bounded apart:
// how often a wrong claim passes, and how often a right one is refused.
func TestEvalLabelledClaims(t *testing.T) {
	for _, set := range []struct {
		file                             string
		cases, right, falsePass, refused int
	}{
		{file: "claims-1.yaml", cases: 63, right: 63, falsePass: 0, refused: 0},
		{file: "claims-2.yaml", cases: 57, right: 56, falsePass: 0, refused: 0},
		{file: "claims-3.yaml", cases: 61, right: 59, falsePass: 2, refused: 0},
		{file: "claims-4.yaml", cases: 54, right: 49, falsePass: 0, refused: 3},
		{file: "claims-5.yaml", cases: 56, right: 52, falsePass: 0, refused: 4},
	} {
		t.Run(strings.TrimSuffix(set.file, ".yaml"), func(t *testing.T) {
			l := load(t, set.file)
			if len(l.Cases) != set.cases {
				t.Fatalf("%d cases, want %d", len(l.Cases), set.cases)
			}
			right, falsePass, refused := 0, 0, 0
			for _, c := range l.Cases {
				findings, err := Check(t.Context(), c.Answer, l.passages(c.Set), nil)
				if err != nil || len(findings) != 1 {
					t.Errorf("%s/%s: %d claims in %q, want one", c.Kind, c.Name, len(findings), c.Answer)
					continue
				}
				got := findings[0]
				switch {
				case got.Verdict == c.Verdict:
					right++
				case c.Clear:
					t.Errorf("%s/%s: %q is %s, want %s: %v", c.Kind, c.Name, c.Answer, got.Verdict, c.Verdict, got.Reasons)
				default:
					t.Logf("%s/%s: %q is %s, labelled %s: %v", c.Kind, c.Name, c.Answer, got.Verdict, c.Verdict, got.Reasons)
				}
				if passes(got.Verdict) && !passes(c.Verdict) {
					falsePass++
				}
				if !passes(got.Verdict) && passes(c.Verdict) {
					refused++
				}
				if len(got.Reasons) == 0 {
					t.Errorf("%s/%s: a verdict without a reason", c.Kind, c.Name)
				}
			}
			t.Logf("%d of %d verdicts right (%.3f), wrong claims passed %d, right claims refused %d",
				right, len(l.Cases), float64(right)/float64(len(l.Cases)), falsePass, refused)
			if right < set.right || falsePass > set.falsePass || refused > set.refused {
				t.Errorf("%d verdicts right, want at least %d; %d wrong claims passed, want at most %d; %d right claims refused, want at most %d",
					right, set.right, falsePass, set.falsePass, refused, set.refused)
			}
		})
	}
}
