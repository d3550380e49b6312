package retrieval_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"sabha.dev/services/research/internal/embed"
	"sabha.dev/services/research/internal/retrieval"
)

func office() *shelf {
	s := newShelf()
	s.put("access.md", nil, "A newcomer's account is opened by the identity desk.", "On the last working day the account is disabled.")
	s.put("travel.md", nil, "A room may cost 140 euros a night.", "Receipts are handed in within thirty days.")
	s.put("security.md", nil, "Every sign-in asks for a second factor.", "A datacentre has two power supplies.")
	s.put("staff.md", nil, "Notification of illness goes to the team before nine.", "The canteen serves from noon.")
	return s
}

func TestSearchFindsWhatIsSaidInOtherWords(t *testing.T) {
	e := retrieval.New(office(), embed.Builtin{}, "docs")
	for query, want := range map[string]string{
		"new hire login":                 "access.md/0", // synonyms
		"maximum hotel price":            "travel.md/0",
		"mfa":                            "security.md/0", // an abbreviation
		"two-factor authentication":      "security.md/0", // a phrase
		"noitfication of ilness":         "staff.md/0",    // misspelt
		"data centre electricity":        "security.md/1", // joined
		"deadline for submitting a bill": "travel.md/1",
	} {
		if got := search(t, e, retrieval.Query{Text: query}); len(got) == 0 || got[0] != want {
			t.Errorf("%q: got %v, want %s first", query, got, want)
		}
	}
}

func TestRankGivesOneRankingAlone(t *testing.T) {
	e := retrieval.New(office(), embed.Builtin{}, "docs")
	ranked := func(by retrieval.Ranking) int {
		results, err := e.Rank(context.Background(), retrieval.Query{Text: "mfa", Limit: 5}, by)
		if err != nil {
			t.Fatal(err)
		}
		return len(results)
	}
	if words, meanings, vectors := ranked(retrieval.ByWords), ranked(retrieval.ByMeanings), ranked(retrieval.ByVectors); words != 0 || meanings == 0 || vectors == 0 {
		t.Errorf("%d by words, %d by meanings, %d by vectors; no passage has the word itself", words, meanings, vectors)
	}
}

// What an index that grew change by change answers is what one answers that
// was read at once, large enough for the quick look at vectors.
func TestChangesLeadToTheSameIndex(t *testing.T) {
	const documents = 2300
	words := strings.Fields("amber birch cedar delta ember fjord grove heath inlet jetty knoll ledge marsh north ocean prairie quarry ridge shore tundra")
	text := func(i int) string {
		var b strings.Builder
		for j := range 12 {
			fmt.Fprintf(&b, "%s ", words[(i*(j+3)+j*j)%len(words)])
		}
		return fmt.Sprintf("%s item%d", b.String(), i)
	}
	s := newShelf()
	grown := retrieval.New(s, embed.Builtin{}, "docs")
	for i := range documents {
		s.put(fmt.Sprintf("%04d.md", i), nil, text(i))
		if i%500 == 0 {
			search(t, grown, retrieval.Query{Text: "amber"})
		}
	}
	for i := 0; i < documents; i += 7 {
		s.remove(fmt.Sprintf("%04d.md", i))
	}
	search(t, grown, retrieval.Query{Text: "amber"})
	for i := 1; i < documents; i += 7 {
		s.put(fmt.Sprintf("%04d.md", i), nil, text(i+1))
	}
	fresh := retrieval.New(s, embed.Builtin{}, "docs")
	for _, query := range []string{"amber birch ledge", "quarry shore item77", "tundra", "item14", "item2", "prairi ocaen"} {
		want := search(t, fresh, retrieval.Query{Text: query, Limit: 20})
		if got := search(t, grown, retrieval.Query{Text: query, Limit: 20}); !slices.Equal(got, want) {
			t.Errorf("%q: got %v, a fresh index gives %v", query, got, want)
		}
	}
	if got := search(t, grown, retrieval.Query{Text: "item14"}); slices.Contains(got, "0014.md/0") {
		t.Error("a removed document is still found")
	}
}

func TestPassagesThatWereReadAreKept(t *testing.T) {
	s := office()
	e := retrieval.New(s, embed.Builtin{}, "docs")
	search(t, e, retrieval.Query{Text: "account"})
	reads := s.reads
	search(t, e, retrieval.Query{Text: "account"})
	if s.reads != reads || reads == 0 {
		t.Errorf("%d reads, then %d more", reads, s.reads-reads)
	}
}
