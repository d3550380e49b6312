package synthesis

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// sections reads the documents of testdata as passages, one a section, as a search would give them.
func sections(t *testing.T) []Passage {
	t.Helper()
	var out []Passage
	for _, name := range []string{"lighthouse.md", "library.md"} {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		doc := string(data)
		title, _, _ := strings.Cut(strings.TrimPrefix(doc, "# "), "\n")
		at := 0
		for part := range strings.SplitSeq(doc, "\n## ") {
			if at > 0 {
				heading, body, _ := strings.Cut(part, "\n")
				start := at + len(heading) + 1
				out = append(out, Passage{ID: name + "#" + heading, Document: name, Title: title, HeadingPath: []string{title, heading}, Start: start, End: start + len(body), Text: body, Confidence: -1})
			}
			at += len(part) + len("\n## ")
		}
	}
	return out
}

// search gives the five sections that share most words with the question.
func search(question string, all []Passage) []Passage {
	shared := func(p Passage) int {
		n := 0
		set := termSet(p.Text, strings.Join(p.HeadingPath, " "))
		for t := range termSet(question) {
			if set[t] {
				n++
			}
		}
		return n
	}
	found := slices.Clone(all)
	slices.SortStableFunc(found, func(a, b Passage) int { return cmp.Compare(shared(b), shared(a)) })
	return found[:5]
}

func TestQuestionsAreAnsweredOrHonestlyNot(t *testing.T) {
	data, err := os.ReadFile("testdata/questions.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var questions []struct{ Ask, Expect string }
	if err := yaml.Unmarshal(data, &questions); err != nil {
		t.Fatal(err)
	}
	all := sections(t)
	answered, answerable, honest, unanswerable := 0, 0, 0, 0
	for _, q := range questions {
		passages := search(q.Ask, all)
		a := Extract(Request{Question: q.Ask, Passages: passages, MaxSentences: DefaultMaxSentences, MinRelevance: DefaultMinRelevance})
		checkCitations(t, a)
		if q.Expect != "" {
			answerable++
			if strings.Contains(a.Text, q.Expect) {
				answered++
				continue
			}
		} else {
			unanswerable++
			if !a.Answered {
				honest++
				continue
			}
		}
		t.Logf("%s\n%s", q.Ask, a.Text)
	}
	t.Logf("answered %d of %d; said honestly that nothing answers %d of %d", answered, answerable, honest, unanswerable)
	if answered < answerable*9/10 || honest < unanswerable*3/4 {
		t.Errorf("answered %d of %d; said honestly that nothing answers %d of %d", answered, answerable, honest, unanswerable)
	}
}

// checkCitations asserts that every quote stands in the passage its marker names.
func checkCitations(t *testing.T, a Answer) {
	t.Helper()
	if !a.Answered {
		if len(a.Citations) != 0 || !strings.HasPrefix(a.Text, "No passage answers this question") {
			t.Errorf("not an honest answer: %+v", a)
		}
		return
	}
	for i, c := range a.Citations {
		if c.Marker != i+1 {
			t.Errorf("marker %d stands at place %d", c.Marker, i)
		}
	}
	for line := range strings.SplitSeq(a.Text, "\n") {
		line = strings.TrimPrefix(line, "- ")
		i := strings.LastIndex(line, " [")
		if i < 0 {
			t.Errorf("a line without a citation: %q", line)
			continue
		}
		n := int(line[i+2] - '0')
		if n < 1 || n > len(a.Citations) {
			t.Errorf("%q cites a passage that is not there", line)
			continue
		}
		plain := func(s string) string {
			return strings.Join(strings.Fields(strings.NewReplacer("`", "", "|", " ").Replace(s)), " ")
		}
		source := plain(a.Citations[n-1].Passage.Text)
		for _, part := range strings.Split(line[:i], "; ") {
			_, cell, isCell := strings.Cut(part, ": ")
			if quote := plain(part); !strings.Contains(source, quote) && !(isCell && strings.Contains(source, plain(cell))) {
				t.Errorf("%q does not stand in its passage", quote)
			}
		}
	}
}
