package a2aagent

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/label"
	"sabha.dev/chassis/tool"
	"sabha.dev/services/research/internal/library"
	"sabha.dev/services/research/internal/retrieval"
)

// papers is a library in a list, the oldest change first.
type papers []library.Document

func (p papers) Document(_ context.Context, name string) (*library.Document, error) {
	for _, d := range p {
		if d.ID == name {
			return &d, nil
		}
	}
	return nil, nil
}

func (p papers) Changes(_ context.Context, after library.Cursor, limit int) ([]library.Change, error) {
	changes := []library.Change{}
	for i, d := range p {
		if int64(i+1) > after.Generation && len(changes) < limit {
			changes = append(changes, library.Change{ID: d.ID, Title: d.Title, At: library.Cursor{Generation: int64(i + 1), Name: d.ID}})
		}
	}
	return changes, nil
}

// reading asks a skill of the library with a data part.
func reading(t *testing.T, id, data string) (string, string, label.Labels, error) {
	t.Helper()
	documents := papers{{ID: "a.md", Title: "A", Metadata: map[string][]string{"confidentiality": {"internal"}}, Passages: []library.Passage{{Text: "t"}}}, {ID: "b.md", Title: "B"}, {ID: "c.md", Title: "C"}}
	engine := &shelves{answers: map[string][]retrieval.Result{"q": {passage("a.md", 0, 0.9)}}}
	skills := WithLibrary(New(engine, "1"), documents, engine).Skills
	at := slices.IndexFunc(skills, func(s agent.Skill) bool { return s.ID == id })
	m, err := skills[at].Answer(t.Context(), &agent.Request{Message: message(t, `[{"data":`+data+`}]`)})
	if err != nil {
		return "", "", label.Labels{}, err
	}
	raw, err := agent.DataOf(m.GetParts()).MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return agent.TextOf(m.GetParts()), string(raw), label.Of(m.GetParts()...), nil
}

func TestDocumentsAreFetchedWithTheirLabels(t *testing.T) {
	said, data, labels, err := reading(t, Fetch, `{"id":"a.md"}`)
	if err != nil || said != "A, 1 passages." || !strings.Contains(data, `"text":"t"`) {
		t.Errorf("%q %s, %v", said, data, err)
	}
	if labels.Integrity != label.Untrusted || labels.Confidentiality != label.Internal {
		t.Errorf("labels %+v", labels)
	}
}

func TestChangesGoOnAfterACursor(t *testing.T) {
	var got struct {
		Changes []library.Change
		Cursor  string
		More    bool
	}
	for _, c := range []struct {
		in    string
		first string
		more  bool
		at    string
	}{{`{"limit":2}`, "a.md", true, "2/b.md"}, {`{"limit":2,"cursor":"2/b.md"}`, "c.md", false, "3/c.md"}, {`{}`, "a.md", false, "3/c.md"}} {
		_, data, _, err := reading(t, Changes, c.in)
		if err == nil {
			err = json.Unmarshal([]byte(data), &got)
		}
		if err != nil || got.Changes[0].ID != c.first || got.More != c.more || got.Cursor != c.at {
			t.Errorf("%s: %s, %v", c.in, data, err)
		}
	}
	if _, data, _, err := reading(t, Changes, `{"cursor":"3/c.md"}`); err != nil || data != `{"changes":[],"cursor":"3/c.md","more":false}` && !strings.Contains(data, `"cursor":"3/c.md"`) {
		t.Errorf("after all: %s, %v", data, err)
	}
}

func TestVectorSearchSaysWhatKALKIExpects(t *testing.T) {
	said, data, labels, err := reading(t, VectorSearch, `{"query":"q","top_k":50,"min_confidence":0.5}`)
	if err != nil || said != "Extracted 1 relevant passage from T a.md." || !strings.Contains(data, `"document":"a.md"`) || labels.Integrity != label.Untrusted {
		t.Errorf("%q %s %v, %v", said, data, labels, err)
	}
}

func TestDataThatASkillOfTheLibraryDoesNotTake(t *testing.T) {
	for _, c := range [][3]string{
		{Fetch, `{"id":"none.md"}`, `"none.md" is no document here`},
		{Fetch, `{}`, "missing property 'id'"},
		{Changes, `{"cursor":"yesterday"}`, "is not one that an earlier answer gave"},
		{Changes, `{"cursor":"-1/a"}`, "is not one that an earlier answer gave"},
		{Changes, `{"limit":101}`, "/limit: maximum"},
		{VectorSearch, `{"query":"q","top_k":51}`, "/top_k: maximum"},
		{VectorSearch, `{"query":"  "}`, "does not match pattern"},
	} {
		if _, _, _, err := reading(t, c[0], c[1]); !fault.Is(err, fault.InvalidArgument) || !strings.Contains(err.Error(), c[2]) {
			t.Errorf("%s %s: %v, want %q", c[0], c[1], err, c[2])
		}
	}
}

func TestDeclaredInputsAreSchemas(t *testing.T) {
	for _, s := range WithLibrary(New(&shelves{}, "1"), papers{}, &shelves{}).Skills {
		if s.Input == "" {
			continue
		}
		if _, err := tool.New(tool.Definition{Name: s.ID, Input: json.RawMessage(s.Input)}); err != nil {
			t.Errorf("%s: %v", s.ID, err)
		}
	}
}
