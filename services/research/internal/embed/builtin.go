package embed

import (
	"context"
	"math"
	"sync"

	"sabha.dev/chassis/label"
	"sabha.dev/services/research/internal/term"
)

// BuiltinName is the name of the built-in embedder. It changes with anything
// that changes a vector.
const BuiltinName = "builtin-meanings-v1"

const (
	builtinDimensions = 1024
	gram              = 4 // letters of a character n-gram

	// What a kind of feature weighs against a word's 1. The grams of one
	// word share their weight.
	gramWeight = 0.25
)

// Builtin is the built-in embedder: feature hashing (Weinberger et al., 2009)
// of stemmed words and of their character n-grams. It needs no network and no
// model: texts are alike that share words or parts of words. A query brings
// along what says the same (EmbedTerms), so that it is near passages that use
// other words, too. What a sentence says beyond its words it does not know.
type Builtin struct{}

var _ Weighing = Builtin{}

// Name is BuiltinName.
func (Builtin) Name() string { return BuiltinName }

// Dimensions is 1024.
func (Builtin) Dimensions() int { return builtinDimensions }

// Embed never fails unless the context has ended.
func (Builtin) Embed(ctx context.Context, _ label.Labels, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	for i, text := range texts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		out[i] = vector(text)
	}
	return out, nil
}

// EmbedTerms implements Weighing.
func (Builtin) EmbedTerms(terms []Weighted) []float32 {
	features := tallies.Get().(*tally)
	defer tallies.Put(features)
	features.reset()
	for _, t := range terms {
		features.word(t.Term, t.Weight)
	}
	return Normal(features.vector(func(n float64) float64 { return n }))
}

var tallies = sync.Pool{New: func() any { return &tally{weight: map[uint64]float64{}} }}

func vector(text string) []float32 {
	features := tallies.Get().(*tally)
	defer tallies.Put(features)
	features.reset()
	for _, t := range term.Content(term.Of(text)) {
		features.word(t, 1)
	}
	return Normal(features.vector(dampen))
}

func (t *tally) word(w string, weight float64) {
	t.add(hash('w', w), weight)
	t.grams(w, weight)
}

// tally sums weights of hashed features and remembers their order, so that the
// sums of a vector come out the same, to the bit, each time.
type tally struct {
	weight map[uint64]float64
	order  []uint64
}

func (t *tally) reset() {
	clear(t.weight)
	t.order = t.order[:0]
}

func (t *tally) add(feature uint64, weight float64) {
	have, seen := t.weight[feature]
	if !seen {
		t.order = append(t.order, feature)
	}
	t.weight[feature] = have + weight
}

// grams adds the character n-grams of a word.
func (t *tally) grams(word string, weight float64) {
	marked := "^" + word + "$"
	n := len(marked) - gram + 1
	if n < 1 {
		return
	}
	each := weight * gramWeight / math.Sqrt(float64(n))
	for i := range n {
		t.add(hash('g', marked[i:i+gram]), each)
	}
}

// vector lays the features out.
func (t *tally) vector(repeated func(float64) float64) []float32 {
	v := make([]float32, builtinDimensions)
	for _, h := range t.order {
		w := float32(repeated(t.weight[h]))
		if h>>16&1 == 1 {
			w = -w
		}
		v[h%builtinDimensions] += w
	}
	return v
}

// dampen says that what a passage repeats ten times is not ten times as
// important.
func dampen(n float64) float64 {
	if n <= 1 {
		return n
	}
	return 1 + math.Log(n)
}

// hash is FNV-1a, 64 bits; the low bits mix best after folding in the high ones.
func hash(kind byte, feature string) uint64 {
	const offset, prime = 14695981039346656037, 1099511628211
	h := (uint64(offset) ^ uint64(kind)) * prime
	for i := range len(feature) {
		h = (h ^ uint64(feature[i])) * prime
	}
	return h ^ h>>32
}
