package drift

import "math"

// Needed is how many values of a measure a run has to give, over its tasks and repeats, so
// that a shift of so many standard deviations is found within [Window] runs with the
// probability power, when values are normal and independent and the suite has so many
// measures. It is the formula of docs/contract-tests.md; its simulation is a test.
func Needed(shift, power float64, baseline, measures int) int {
	z := quantile(1-LookAlpha/2/float64(2*max(measures, 1))) + quantile(power)
	run := shift * math.Sqrt(1/(1.0/Window+1/float64(max(baseline, Window))))
	// Ranks see 3/pi of what means do.
	return int(math.Ceil(z * z / (run * run) * math.Pi / 3))
}

// quantile of the standard normal distribution.
func quantile(p float64) float64 { return math.Sqrt2 * math.Erfinv(2*p-1) }
