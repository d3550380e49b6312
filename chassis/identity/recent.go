package identity

import "time"

// generationSize bounds each of the two generations of a cache.
const generationSize = 4096

// recent is a cache of what tokens were found to be. It has two generations: what
// was put in the last lifetime of a token, and before that. The older one is
// dropped whole when the younger is that old, or full, so what it holds follows
// the rate of new tokens and not the time that the process has run.
type recent[K comparable, V any] struct {
	young, old map[K]V
	since      time.Time // when the young one began
}

func (r *recent[K, V]) get(key K) (V, bool) {
	if v, ok := r.young[key]; ok {
		return v, true
	}
	v, ok := r.old[key]
	return v, ok
}

func (r *recent[K, V]) put(key K, value V, now time.Time) {
	if r.young == nil || len(r.young) >= generationSize || now.Sub(r.since) >= lifetime {
		r.old, r.young, r.since = r.young, map[K]V{}, now
	}
	r.young[key] = value
}
