package gate_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"sabha.dev/chassis/clock"
	"sabha.dev/services/partners/internal/agreement"
	"sabha.dev/services/partners/internal/gate"
	"sabha.dev/services/partners/internal/partner"
)

// terms of a skill that is written in braces.
func terms(tb testing.TB, skill string) *agreement.Terms {
	tb.Helper()
	a, err := agreement.Parse("u.yaml", []byte(`partner: underwriter
version: 1
owner: tests
review_date: 2099-01-31
organisation: Underwriter plc
skills:
  underwrite: `+skill+"\n"))
	if err != nil {
		tb.Fatal(err)
	}
	return a.Terms("underwrite")
}

// rig is a gate whose time is that of a bubble of synctest, and what it has told.
type rig struct {
	*testing.T
	gate *gate.Gate

	mu      sync.Mutex
	changes []gate.Change
	calls   []gate.Call
	refused map[gate.Why]int
}

func newRig(t *testing.T) *rig {
	r := &rig{T: t, refused: map[gate.Why]int{}}
	r.gate = gate.New(gate.Config{Clock: clock.System{}, Ledger: r, Changed: func(c gate.Change) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.changes = append(r.changes, c)
	}})
	return r
}

func (r *rig) Called(c gate.Call) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, c)
}

func (r *rig) Refused(_ partner.Address, why gate.Why, _ time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refused[why]++
}

// call makes a call that takes so long and ends so. It says how it was held back.
func (r *rig) call(t *agreement.Terms, took time.Duration, result gate.Result) *gate.Closed {
	r.Helper()
	p, err := r.gate.Enter(r.Context(), t)
	if err != nil {
		var closed *gate.Closed
		if !errors.As(err, &closed) {
			r.Fatal(err)
		}
		return closed
	}
	time.Sleep(took)
	p.Done(result)
	return nil
}

// state is that of the only breaker.
func (r *rig) state() string {
	r.Helper()
	list := r.gate.Breakers()
	if len(list) != 1 {
		r.Fatalf("%v", list)
	}
	return list[0].State.String()
}
