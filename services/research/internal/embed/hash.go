package embed

import (
	"context"
	"math"

	"sabha.dev/services/research/internal/term"
)

// HashName is the name of the built-in embedder.
const HashName = "builtin-hash-v1"

const (
	hashDimensions = 512
	gram           = 4 // letters of a character n-gram

	// What a kind of feature weighs against a word's 1. The grams of one
	// word share their weight.
	pairWeight = 0.5
	gramWeight = 0.7
)

// Hash is the built-in embedder: feature hashing (Weinberger et al., 2009)
// of stemmed words, pairs of neighbours and character n-grams. It needs no
// network and no model, and it knows no meaning: it sees texts as alike that
// share words, parts of words or misspelt words, and no synonyms.
type Hash struct{}

// Name is HashName.
func (Hash) Name() string { return HashName }

// Dimensions is 512.
func (Hash) Dimensions() int { return hashDimensions }

// Embed never fails unless the context has ended.
func (Hash) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	for i, text := range texts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		out[i] = hashText(text)
	}
	return out, nil
}

func hashText(text string) []float32 {
	words := term.Content(term.Of(text))
	v := make([]float32, hashDimensions)
	features := newTally()
	for i, w := range words {
		features.add(w, 1)
		if i > 0 {
			features.add(words[i-1]+" "+w, pairWeight)
		}
	}
	features.hash(v, 'w')
	grams := newTally()
	for _, w := range words {
		marked := []rune("^" + w + "$")
		n := len(marked) - gram + 1
		for i := range n {
			grams.add(string(marked[i:i+gram]), gramWeight/math.Sqrt(float64(n)))
		}
	}
	grams.hash(v, 'g')
	return normal(v)
}

// tally sums weights and remembers the order, so that the sums of a vector
// come out the same, to the bit, each time.
type tally struct {
	weight map[string]float64
	order  []string
}

func newTally() *tally { return &tally{weight: map[string]float64{}} }

func (t *tally) add(feature string, weight float64) {
	if _, seen := t.weight[feature]; !seen {
		t.order = append(t.order, feature)
	}
	t.weight[feature] += weight
}

// hash adds the features to a vector. What is said ten times is not ten
// times as important.
func (t *tally) hash(v []float32, kind byte) {
	for _, feature := range t.order {
		add(v, kind, feature, dampen(t.weight[feature]))
	}
}

func dampen(n float64) float64 {
	if n <= 1 {
		return n
	}
	return 1 + math.Log(n)
}

// add hashes a feature (FNV-1a, 64 bits) to a dimension and a sign.
func add(v []float32, kind byte, feature string, weight float64) {
	const offset, prime = 14695981039346656037, 1099511628211
	h := (uint64(offset) ^ uint64(kind)) * prime
	for i := range len(feature) {
		h = (h ^ uint64(feature[i])) * prime
	}
	// The low bits of FNV mix best after folding in the high ones.
	h ^= h >> 32
	if h>>16&1 == 1 {
		weight = -weight
	}
	v[h%uint64(len(v))] += float32(weight)
}

func normal(v []float32) []float32 {
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	if sum == 0 {
		return v
	}
	length := float32(math.Sqrt(sum))
	for i := range v {
		v[i] /= length
	}
	return v
}
