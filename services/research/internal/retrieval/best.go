package retrieval

import (
	"container/heap"
	"slices"
)

// best keeps the best of what it is given.
type best struct {
	most   int
	better func(a, b ranked) int
	items  []ranked // a heap with the worst on top once it is full
}

func newBest(most int, better func(a, b ranked) int) *best {
	return &best{most: most, better: better, items: make([]ranked, 0, most)}
}

// takes tells quickly whether something of a score could be among the best.
func (b *best) takes(score float64) bool {
	return len(b.items) < b.most || score >= b.items[0].score
}

func (b *best) add(r ranked) {
	switch {
	case len(b.items) < b.most:
		b.items = append(b.items, r)
		if len(b.items) == b.most {
			heap.Init(b)
		}
	case b.better(r, b.items[0]) < 0:
		b.items[0] = r
		heap.Fix(b, 0)
	}
}

func (b *best) sorted() []ranked {
	slices.SortFunc(b.items, b.better)
	return b.items
}

// Len implements heap.Interface.
func (b *best) Len() int { return len(b.items) }

// Less implements heap.Interface: the worse first.
func (b *best) Less(i, j int) bool { return b.better(b.items[i], b.items[j]) > 0 }

// Swap implements heap.Interface.
func (b *best) Swap(i, j int) { b.items[i], b.items[j] = b.items[j], b.items[i] }

// Push implements heap.Interface; best never pushes.
func (b *best) Push(x any) { b.items = append(b.items, x.(ranked)) }

// Pop implements heap.Interface; best never pops.
func (b *best) Pop() any {
	last := b.items[len(b.items)-1]
	b.items = b.items[:len(b.items)-1]
	return last
}
