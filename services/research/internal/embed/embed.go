// Package embed turns text into vectors whose cosine says how alike two
// texts are.
package embed

import "context"

// Embedder makes vectors. Implementations are safe for concurrent use.
type Embedder interface {
	// Name identifies the model; vectors of different names are not compared.
	Name() string
	// Dimensions is the length of every vector.
	Dimensions() int
	// Embed gives one vector of length 1 for each text, in order. A text
	// without anything to embed gives a vector of zeros.
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

// Cosine is the cosine of two vectors of length 1 (or 0), from -1 to 1.
// Vectors of different dimensions have cosine 0.
func Cosine(a, b []float32) float64 {
	if len(a) != len(b) {
		return 0
	}
	var sum float32
	for i, x := range a {
		sum += x * b[i]
	}
	return float64(sum)
}
