//go:build slow

package drift_test

import (
	"testing"

	"sabha.dev/services/partners/internal/drift"
)

func TestTheLevelIsKeptWhateverTheDistribution(t *testing.T) {
	for _, a := range agents() {
		if a.follow > 0 {
			continue // its runs are not exchangeable; docs/contract-tests.md says what becomes of it
		}
		// At most 1% of 300 is 3; 9 or more of that happens once in 250 times, and the seeds are fixed.
		if got := share(a.trials(300, 100, 0)); got > 8.0/300 {
			t.Errorf("%s: %.2f%% of series had a false alarm, of at most %.0f%%", a.name, 100*got, 100*drift.FalseAlarms)
		}
	}
}
