package identity

import (
	"testing"
	"time"
)

func TestRecentForgetsByAgeAndBySize(t *testing.T) {
	var r recent[int, string]
	now := time.Unix(0, 0)
	r.put(1, "one", now)
	r.put(2, "two", now.Add(lifetime-1))
	for key, want := range map[int]string{1: "one", 2: "two"} {
		if got, ok := r.get(key); !ok || got != want {
			t.Errorf("%d: got %q, %t", key, got, ok)
		}
	}
	r.put(3, "three", now.Add(lifetime)) // a new generation
	if _, ok := r.get(1); !ok {
		t.Error("1 was dropped with the young generation")
	}
	r.put(4, "four", now.Add(2*lifetime))
	if _, ok := r.get(1); ok {
		t.Error("1 is still held after two lifetimes")
	}
	if got, _ := r.get(3); got != "three" {
		t.Errorf("3: got %q", got)
	}

	for key := range 10 * generationSize {
		r.put(key, "", now.Add(2*lifetime))
		if held := len(r.young) + len(r.old); held > 2*generationSize {
			t.Fatalf("%d entries are held", held)
		}
	}
	if _, ok := r.get(10*generationSize - 1); !ok {
		t.Error("the newest entry is gone")
	}
}
