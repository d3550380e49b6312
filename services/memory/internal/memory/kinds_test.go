package memory

import (
	"testing"
	"time"

	"sabha.dev/chassis/label"
)

func TestShapeMeetsWhatIsToldAgain(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"The customer prefers letters.", "customer prefers letters", true},
		{"Please note that the OFFICE is closed", "please note: office closed!", true},
		{"Alice pays Bob", "Bob pays Alice", false},
		{"The fee is 5 euros", "The fee is 6 euros", false},
		{"She eats meat", "She eats no meat", false},
	} {
		if got := Shape(c.a) == Shape(c.b); got != c.same {
			t.Errorf("%q and %q: %v", c.a, c.b, got)
		}
	}
	if Shape("Hello") != "" || Shape("") != "" {
		t.Error("a word alone has a shape")
	}
}

func TestBetterFact(t *testing.T) {
	fact := func(integrity label.Integrity, confidence float64, age time.Duration) Memory {
		return Memory{Labels: label.Labels{Integrity: integrity}, Fact: &Fact{Confidence: confidence, At: now.Add(-age)}}
	}
	for name, c := range map[string]struct {
		is, was Memory
		better  bool
	}{
		"newer":                    {fact(label.Trusted, 1, 0), fact(label.Trusted, 1, time.Hour), true},
		"older":                    {fact(label.Trusted, 1, time.Hour), fact(label.Trusted, 1, 0), false},
		"more certain though old":  {fact(label.Trusted, 0.9, time.Hour), fact(label.Trusted, 0.5, 0), true},
		"untrusted though certain": {fact(label.Untrusted, 1, 0), fact(label.Trusted, 0.5, time.Hour), false},
		"trusted at last":          {fact(label.Trusted, 0.5, time.Hour), fact(label.Untrusted, 1, 0), true},
	} {
		if got := c.is.Better(c.was); got != c.better {
			t.Errorf("%s: %v", name, got)
		}
	}
}
