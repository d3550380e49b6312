package memory

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

var now = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

func remembered(id, text string, age time.Duration, tags ...string) Memory {
	return Memory{ID: id, Text: text, Tags: tags, CreatedAt: now.Add(-age)}
}

func TestRank(t *testing.T) {
	const day = 24 * time.Hour
	notes := []Memory{
		remembered("letters", "The customer prefers letters to calls.", 10*day),
		remembered("phone", "The customer's phone is out of order.", day, "contact"),
		remembered("cat", "Her cat is called Moti.", 100*day),
		remembered("hindi", "वह हिंदी में उत्तर चाहती हैं", 2*day),
		remembered("old", "Meet on Monday.", 300*day),
		remembered("new", "Meet on Monday.", day),
	}
	for name, c := range map[string]struct {
		query string
		limit int
		want  string
	}{
		"rarer word first":       {"customer letters", 5, "letters phone"},
		"case and punctuation":   {"MOTI?!", 5, "cat"},
		"by tag":                 {"contact", 5, "phone"},
		"another script":         {"हिंदी", 5, "hindi"},
		"newer first, same text": {"monday", 5, "new old"},
		"limit":                  {"the customer", 1, "letters"},
		"nothing shared":         {"invoice", 5, ""},
		"no words: newest":       {" ?", 3, "new phone hindi"},
		"a word twice":           {"moti moti moti", 5, "cat"},
	} {
		t.Run(name, func(t *testing.T) {
			var ids []string
			for _, h := range Rank(notes, c.query, now, c.limit) {
				ids = append(ids, h.ID)
				if h.Score <= 0 || h.Score > 1 {
					t.Errorf("score of %s is %v", h.ID, h.Score)
				}
			}
			if got := strings.Join(ids, " "); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestRankOfNothing(t *testing.T) {
	if got := Rank(nil, "anything", now, 5); len(got) != 0 {
		t.Errorf("got %v", got)
	}
	if got := Rank([]Memory{{ID: "empty"}}, "anything", now, 5); len(got) != 0 {
		t.Errorf("got %v", got)
	}
}

func TestScoreFallsWithAge(t *testing.T) {
	var scores []string
	for _, age := range []time.Duration{0, halfLife, 2 * halfLife, -time.Hour} {
		hit := Rank([]Memory{remembered("a", "word", age)}, "", now, 1)[0]
		scores = append(scores, fmt.Sprintf("%.3f", hit.Score))
	}
	if got := strings.Join(scores, " "); got != "1.000 0.850 0.775 1.000" {
		t.Errorf("scores %s", got)
	}
}

func FuzzRank(f *testing.F) {
	f.Add("the customer", "prefers letters", 3)
	f.Add("", "\xff\x00", 0)
	f.Fuzz(func(t *testing.T, query, text string, limit int) {
		if limit < 0 {
			limit = 0
		}
		hits := Rank([]Memory{remembered("a", text, 0), remembered("b", query, time.Hour)}, query, now, limit)
		if len(hits) > limit {
			t.Fatalf("%d hits, limit %d", len(hits), limit)
		}
		for _, h := range hits {
			if !(h.Score > 0 && h.Score <= 1) {
				t.Errorf("score %v", h.Score)
			}
		}
	})
}
