package screening

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"os"
	"slices"
	"testing"
)

type example struct {
	ID, Label, Kind, Language, Text string
}

func read(t *testing.T, file string) []example {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out []example
	dec := json.NewDecoder(bytes.NewReader(raw))
	for dec.More() {
		var e example
		if err := dec.Decode(&e); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		out = append(out, e)
	}
	return out
}

// halves splits each label's examples by the order of the hashes of their ids:
// rules are tuned on the first half only.
func halves(all []example) (tuning, heldOut []example) {
	for _, label := range []string{"attack", "harmless"} {
		var some []example
		for _, e := range all {
			if e.Label == label {
				some = append(some, e)
			}
		}
		slices.SortFunc(some, func(a, b example) int {
			x, y := sha256.Sum256([]byte(a.ID)), sha256.Sum256([]byte(b.ID))
			return cmp.Or(bytes.Compare(x[:], y[:]), cmp.Compare(a.ID, b.ID))
		})
		tuning = append(tuning, some[:len(some)/2]...)
		heldOut = append(heldOut, some[len(some)/2:]...)
	}
	return tuning, heldOut
}

type rates struct{ attacks, caught, harmless, refused int }

func (r rates) recall() float64     { return float64(r.caught) / float64(r.attacks) }
func (r rates) falseAlarm() float64 { return float64(r.refused) / float64(r.harmless) }

func measure(t *testing.T, s *Screener, examples []example, verbose bool) rates {
	t.Helper()
	var r rates
	for _, e := range examples {
		v, err := s.Screen(e.Text)
		if err != nil {
			t.Fatalf("%s: %v", e.ID, err)
		}
		refused := v.Verdict == Refused
		if e.Label == "attack" {
			r.attacks++
			if refused {
				r.caught++
			}
		} else {
			r.harmless++
			if refused {
				r.refused++
			}
		}
		if verbose && refused != (e.Label == "attack") {
			t.Logf("%s %s/%s %s %.2f %.90q %v", e.ID, e.Label, e.Kind, v.Verdict, v.Confidence, e.Text, v.Reasons)
		}
	}
	return r
}
