package attainment

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func TestATimeIsReadBackWithinOnePartIn64(t *testing.T) {
	last := -1
	for v := time.Duration(0); v < 25*time.Hour; v += max(time.Microsecond, v/97) {
		s := slot(v)
		if s < last {
			t.Fatalf("%s lies in slot %d, after %d", v, s, last)
		}
		last = s
		if off, most := (middle(s) - v).Abs(), max(v/64, time.Microsecond/2)+time.Microsecond/2; off > most {
			t.Fatalf("%s is read back as %s, off by %s, more than %s", v, middle(s), off, most)
		}
	}
	if slot(-time.Second) != 0 {
		t.Error("a clock that was put back gives no slot")
	}
}

func TestPercentilesAreThoseOfTheAnswers(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	draw := map[string]func() float64{ // seconds
		"even":       rng.Float64,
		"long tail":  func() float64 { return math.Exp(rng.NormFloat64()*1.5 - 1) },
		"two humps":  func() float64 { return .1 + 20*float64(rng.IntN(2)) + rng.Float64()/10 },
		"all alike":  func() float64 { return 1.5 },
		"very short": func() float64 { return rng.Float64() / 1e4 },
	}
	for name, next := range draw {
		for _, n := range []int{1, 2, 3, 19, 100, 5000} {
			f := &Figures{Times: Times{}}
			exact := make([]time.Duration, n)
			for i := range exact {
				exact[i] = time.Duration(next() * float64(time.Second))
				f.Times[slot(exact[i])]++
			}
			slices.Sort(exact)
			for _, share := range []float64{.01, .5, .9, .95, .99, 1} {
				want := exact[int(math.Ceil(share*float64(n)))-1]
				got, ok := f.Percentile(share)
				if most := want/64 + 2*time.Microsecond; !ok || (got-want).Abs() > most {
					t.Errorf("%s, %d answers, %v: %s, want %s within %s", name, n, share, got, want, most)
				}
			}
		}
	}
	if _, ok := (&Figures{}).Percentile(.5); ok {
		t.Error("there is a percentile of nothing")
	}
}
