package embed

import (
	"context"
	"errors"
	"math"
	"testing"

	"sabha.dev/chassis/label"
)

func embedded(t *testing.T, text string) Quantised {
	t.Helper()
	v, err := Builtin{}.Embed(context.Background(), label.Labels{}, []string{text})
	if err != nil {
		t.Fatal(err)
	}
	return Quantise(v[0])
}

func TestBuiltinSeesWordsFormsAndMisspellings(t *testing.T) {
	query := embedded(t, "push notification retries")
	exact := query.Cosine(embedded(t, "retries of a push notification"))
	form := query.Cosine(embedded(t, "retrying pushed notifications"))
	misspelt := query.Cosine(embedded(t, "puhs notificaton retris"))
	other := query.Cosine(embedded(t, "the garden grows tomatoes"))
	if !(exact > 0.98 && form > 0.95 && form > misspelt && misspelt > other) {
		t.Errorf("exact %.2f, form %.2f, misspelt %.2f, other %.2f: want the forms near 1, the misspelt between, the other lowest", exact, form, misspelt, other)
	}
	if math.Abs(other) > 0.15 {
		t.Errorf("unrelated texts have cosine %.2f", other)
	}
}

func TestAQueryToldWhatSaysTheSameIsNearIt(t *testing.T) {
	passage := embedded(t, "The account is closed without notice.")
	plain := Quantise(Builtin{}.EmbedTerms([]Weighted{{"terminat", 2}}))
	told := Quantise(Builtin{}.EmbedTerms([]Weighted{{"terminat", 2}, {"close", 1.5}}))
	if p, q := plain.Cosine(passage), told.Cosine(passage); q < p+0.2 {
		t.Errorf("cosine %.2f with the synonym, %.2f without", q, p)
	}
}

func TestVectorsAreTheSameEverywhereAndOfLengthOne(t *testing.T) {
	a, b := embedded(t, "An agent card describes skills"), embedded(t, "An agent card describes skills")
	if c := a.Cosine(b); math.Abs(c-1) > 0.01 {
		t.Errorf("cosine with itself is %v", c)
	}
	if len(a.Codes) != (Builtin{}).Dimensions() {
		t.Errorf("%d dimensions", len(a.Codes))
	}
	if c := a.Cosine(embedded(t, "?!")); c != 0 {
		t.Errorf("cosine with a text of no words is %v", c)
	}
	if c := a.Cosine(Quantised{Scale: 1, Codes: a.Codes[:10]}); c != 0 {
		t.Errorf("cosine over different dimensions is %v", c)
	}
}

func TestQuantisedComesBackAndIsNearTheExact(t *testing.T) {
	ctx := context.Background()
	v, _ := Builtin{}.Embed(ctx, label.Labels{}, []string{"The server retries a failed delivery", "A delivery that failed is tried again by the server"})
	exact := 0.0
	for i := range v[0] {
		exact += float64(v[0][i]) * float64(v[1][i])
	}
	a, err := FromBytes(Quantise(v[0]).Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if got := a.Cosine(Quantise(v[1])); math.Abs(got-exact) > 0.01 {
		t.Errorf("cosine %v of the quantised, %v of the exact", got, exact)
	}
	if _, err := FromBytes([]byte{1, 2}); !errors.Is(err, ErrVector) {
		t.Errorf("two bytes gave %v", err)
	}
}

// A stored vector is compared with the query's of a later release, so the
// hash must not change under the same name.
func TestBuiltinIsPinned(t *testing.T) {
	v, _ := Builtin{}.Embed(context.Background(), label.Labels{}, []string{"agent"})
	sum := 0.0
	for i, x := range v[0] {
		sum += float64(x) * float64(i)
	}
	if got := math.Round(sum*1000) / 1000; got != pinned {
		t.Errorf("fingerprint %v, want %v: give the embedder a new name", got, pinned)
	}
}

const pinned = -209.672

func TestEmbedStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := (Builtin{}).Embed(ctx, label.Labels{}, []string{"a"}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
