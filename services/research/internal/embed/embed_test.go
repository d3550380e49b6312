package embed

import (
	"context"
	"errors"
	"math"
	"testing"
)

func vector(t *testing.T, text string) []float32 {
	t.Helper()
	v, err := Hash{}.Embed(context.Background(), []string{text})
	if err != nil {
		t.Fatal(err)
	}
	return v[0]
}

func TestHashSeesWordsFormsAndMisspellings(t *testing.T) {
	query := vector(t, "push notification retries")
	exact := Cosine(query, vector(t, "retries of a push notification"))
	form := Cosine(query, vector(t, "retrying pushed notifications"))
	misspelt := Cosine(query, vector(t, "puhs notificaton retris"))
	other := Cosine(query, vector(t, "the garden grows tomatoes"))
	if !(exact > 0.9 && form > 0.9 && form > misspelt && misspelt > other+0.1) {
		t.Errorf("exact %.2f, form %.2f, misspelt %.2f, other %.2f: want the forms near 1, the misspelt between, the other lowest", exact, form, misspelt, other)
	}
	if math.Abs(other) > 0.15 {
		t.Errorf("unrelated texts have cosine %.2f", other)
	}
}

func TestVectorsAreTheSameEverywhereAndOfLengthOne(t *testing.T) {
	a, b := vector(t, "An agent card describes skills"), vector(t, "An agent card describes skills")
	if c := Cosine(a, b); math.Abs(c-1) > 1e-5 {
		t.Errorf("cosine with itself is %v", c)
	}
	if len(a) != (Hash{}).Dimensions() {
		t.Errorf("%d dimensions", len(a))
	}
	if c := Cosine(a, vector(t, "?!")); c != 0 {
		t.Errorf("cosine with a text of no words is %v", c)
	}
	if c := Cosine(a, a[:10]); c != 0 {
		t.Errorf("cosine over different dimensions is %v", c)
	}
}

// A stored vector is compared with the query's of a later release, so the
// hash must not change under the same name.
func TestHashIsPinned(t *testing.T) {
	v := vector(t, "agent")
	sum := 0.0
	for i, x := range v {
		sum += float64(x) * float64(i)
	}
	if got := math.Round(sum*1000) / 1000; got != pinned {
		t.Errorf("fingerprint %v, want %v: give the embedder a new name", got, pinned)
	}
}

const pinned = -96.956

func TestEmbedStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := (Hash{}).Embed(ctx, []string{"a"}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
