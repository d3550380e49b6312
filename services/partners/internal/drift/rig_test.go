package drift_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"

	"sabha.dev/services/partners/internal/drift"
)

// agent is a simulated partner: what it answers has a mean of 0 and a deviation of 1
// while it is unchanged.
type agent struct {
	name string
	// tasks of its suite, each asked once a run.
	tasks int
	// draw gives one value.
	draw func(*rand.Rand) float64
	// common is the share of the variance that all answers of a run have in common, and
	// follow how far that goes on into the next run.
	common, follow float64
	// change makes of an unchanged value the value of the changed agent, for a size in
	// standard deviations.
	change func(x float64, task int, size float64) float64
}

func normal(r *rand.Rand) float64 { return r.NormFloat64() }

// lognormal of sigma 1, standardised.
func lognormal(r *rand.Rand) float64 {
	mean, sd := math.Exp(0.5), math.Sqrt((math.E-1)*math.E)
	return (math.Exp(r.NormFloat64()) - mean) / sd
}

// heavy is Student's t with 3 degrees of freedom, standardised.
func heavy(r *rand.Rand) float64 {
	var squares float64
	for range 3 {
		x := r.NormFloat64()
		squares += x * x
	}
	return r.NormFloat64() / math.Sqrt(squares/3) / math.Sqrt(3)
}

// marks are whole numbers 1 to 5, mostly 4, standardised.
func marks(r *rand.Rand) float64 {
	u, mark := r.Float64(), 5.0
	for i, p := range []float64{0.05, 0.15, 0.35, 0.8} {
		if u < p {
			mark = float64(i + 1)
			break
		}
	}
	const mean = 1*0.05 + 2*0.1 + 3*0.2 + 4*0.45 + 5*0.2
	const squares = 1*0.05 + 4*0.1 + 9*0.2 + 16*0.45 + 25*0.2
	return (mark - mean) / math.Sqrt(squares-mean*mean)
}

// twoHills are two narrow normal distributions, standardised.
func twoHills(r *rand.Rand) float64 {
	side := 1.0
	if r.Float64() < 0.5 {
		side = -1
	}
	return (side + 0.3*r.NormFloat64()) / math.Sqrt(1.09)
}

func moved(x float64, _ int, size float64) float64 { return x + size }

// apart moves every other task the other way, so that means over tasks stay.
func apart(x float64, task int, size float64) float64 {
	if task%2 == 1 {
		return x - size
	}
	return x + size
}

// wider has a deviation of 1+size.
func wider(x float64, _ int, size float64) float64 { return x * (1 + size) }

// agents are those of the table in docs/contract-tests.md.
func agents() []agent {
	return []agent{
		{name: "normal, 5 answers a run", tasks: 5, draw: normal, change: moved},
		{name: "normal", tasks: 10, draw: normal, change: moved},
		{name: "normal, 20 answers a run", tasks: 20, draw: normal, change: moved},
		{name: "lognormal", tasks: 10, draw: lognormal, change: moved},
		{name: "heavy tails (Student, 3)", tasks: 10, draw: heavy, change: moved},
		{name: "marks 1 to 5, moved off them", tasks: 10, draw: marks, change: moved},
		{name: "two hills", tasks: 10, draw: twoHills, change: moved},
		{name: "every other task the other way", tasks: 10, draw: normal, change: apart},
		{name: "wider by the shift", tasks: 10, draw: normal, change: wider},
		{name: "a tenth in common within a run", tasks: 10, draw: normal, common: 0.1, change: moved},
		{name: "the same, and following 0.5", tasks: 10, draw: normal, common: 0.1, follow: 0.5, change: moved},
		{name: "half in common, following 0.5", tasks: 10, draw: normal, common: 0.5, follow: 0.5, change: moved},
	}
}

// series is one simulated life: a baseline, then runs of the agent changed by size, a look
// after each, until the first alarm.
func (a agent) series(seed uint64, baseline int, size float64) (alarm int) {
	r := rand.New(rand.NewPCG(seed, 7))
	state := r.NormFloat64()
	run := func(size float64) drift.Run {
		state = a.follow*state + math.Sqrt(1-a.follow*a.follow)*r.NormFloat64()
		out := drift.Run{Numbers: map[drift.Key][]float64{}}
		for t := range a.tasks {
			x := math.Sqrt(1-a.common)*a.draw(r) + math.Sqrt(a.common)*state
			// Each task has a level and a scale of its own.
			out.Numbers[drift.Key{Measure: "x", Task: fmt.Sprint(t)}] = []float64{float64(100*t) + float64(t+1)*a.change(x, t, size)}
		}
		return out
	}
	var then, now []drift.Run
	for range baseline {
		then = append(then, run(0))
	}
	for n := 1; n <= drift.Window; n++ {
		now = append(now, run(size))
		if drift.Look(then, now).Drift {
			return n
		}
	}
	return 0
}

// trials runs many series, and gives after how many runs each had its alarm; 0 for none.
func (a agent) trials(count, baseline int, size float64) []int {
	alarms := make([]int, count)
	var all sync.WaitGroup
	workers := runtime.GOMAXPROCS(0)
	for w := range workers {
		all.Go(func() {
			for i := w; i < count; i += workers {
				alarms[i] = a.series(uint64(i+1), baseline, size)
			}
		})
	}
	all.Wait()
	return alarms
}

// share of series that had an alarm.
func share(alarms []int) float64 {
	n := 0
	for _, a := range alarms {
		if a > 0 {
			n++
		}
	}
	return float64(n) / float64(len(alarms))
}
