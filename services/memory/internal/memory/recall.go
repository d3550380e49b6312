package memory

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"
)

// Hit is a memory that answers a query.
type Hit struct {
	Memory
	// Score in (0,1]: how well the words match, lessened by age. Scores of
	// different queries cannot be compared.
	Score float64
	// Supersedes are the facts that this one took the place of.
	Supersedes []Memory
}

// Parameters of the ranking: BM25 (Robertson and Zaragoza 2009) over the owner's
// memories, times a factor that falls with age from 1 to 1-ageWeight.
const (
	saturation = 1.2
	lengthNorm = 0.75
	ageWeight  = 0.3
	halfLife   = 30 * 24 * time.Hour
)

// Rank gives the memories that share a word with the query, the best first and
// at most limit. A query without words gives the newest.
func Rank(memories []Memory, query string, now time.Time, limit int) []Hit {
	wanted := slices.Compact(slices.Sorted(slices.Values(words(query))))
	var hits []Hit
	if len(wanted) == 0 {
		for _, m := range memories {
			hits = append(hits, Hit{Memory: m, Score: freshness(m, now)})
		}
	} else {
		hits = match(memories, wanted, now)
	}
	slices.SortFunc(hits, func(a, b Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), b.CreatedAt.Compare(a.CreatedAt), strings.Compare(a.ID, b.ID))
	})
	return hits[:min(limit, len(hits))]
}

func match(memories []Memory, wanted []string, now time.Time) []Hit {
	counts := make([]map[string]int, len(memories)) // of the wanted words, by memory
	lengths := make([]int, len(memories))
	holding := map[string]int{} // memories that hold a word
	total := 0
	for i, m := range memories {
		all := append(words(m.Text), words(strings.Join(m.Tags, " "))...)
		counts[i], lengths[i] = map[string]int{}, len(all)
		total += len(all)
		for _, w := range all {
			if _, ok := slices.BinarySearch(wanted, w); ok {
				counts[i][w]++
			}
		}
		for w := range counts[i] {
			holding[w]++
		}
	}
	average := float64(total) / float64(max(len(memories), 1))
	weight := func(w string) float64 {
		n := float64(holding[w])
		return math.Log(1 + (float64(len(memories))-n+0.5)/(n+0.5))
	}
	best := 0.0 // a memory that were nothing but the wanted words
	for _, w := range wanted {
		best += weight(w) * (saturation + 1)
	}
	var hits []Hit
	for i, m := range memories {
		score := 0.0
		for _, w := range wanted { // in order: sums of floats depend on it
			n := float64(counts[i][w])
			norm := saturation * (1 - lengthNorm + lengthNorm*float64(lengths[i])/average)
			score += weight(w) * n * (saturation + 1) / (n + norm)
		}
		if score > 0 {
			hits = append(hits, Hit{Memory: m, Score: score / best * freshness(m, now)})
		}
	}
	return hits
}

func freshness(m Memory, now time.Time) float64 {
	age := max(now.Sub(m.CreatedAt), 0)
	return 1 - ageWeight*(1-math.Exp2(-float64(age)/float64(halfLife)))
}

// words splits a text into lower-case words of letters, marks and digits.
func words(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsDigit(r)
	})
}
