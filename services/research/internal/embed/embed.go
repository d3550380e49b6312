// Package embed turns text into vectors whose cosine says how alike two
// texts are.
package embed

import (
	"context"
	"math"

	"sabha.dev/chassis/label"
)

// Embedder makes vectors. Implementations are safe for concurrent use.
type Embedder interface {
	// Name identifies the model; vectors of different names are not compared.
	Name() string
	// Dimensions is the length of every vector.
	Dimensions() int
	// Embed gives one vector of length 1 for each text, in order. A text
	// without anything to embed gives a vector of zeros. The labels are of what
	// the texts are from. Errors are ErrAway, wrapped with what is known, and the
	// cause of the context's end.
	Embed(ctx context.Context, labels label.Labels, texts []string) ([][]float32, error)
}

// Weighing is an embedder that can be told what a query is about term by term:
// its own terms and those that say the same, each with what it weighs in the
// collection. Its vectors of queries are better than those of Embed.
type Weighing interface {
	Embedder
	EmbedTerms(terms []Weighted) []float32
}

// Weighted is a term of a query and its weight, above 0.
type Weighted struct {
	Term   string
	Weight float64
}

// Normal brings a vector to length 1, in place; zeros stay zeros.
func Normal(v []float32) []float32 {
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
