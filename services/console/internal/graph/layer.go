// Package graph lays out a directed graph in layers from left to right, as plans
// are drawn: every node stands right of what it needs (Sugiyama, Tagawa and Toda,
// 1981: layers, fewest crossings, places).
package graph

import (
	"cmp"
	"slices"
)

// Node of a graph. Needs names the nodes with edges to it; names that no node has
// are left out, and so are edges that would close a cycle.
type Node struct {
	ID    string
	Needs []string
}

// slot is a place in a layer: a node, or a bend of an edge that passes the layer.
type slot struct {
	node  int // of the graph; -1 for a bend
	left  []*slot
	right []*slot
	layer int
	order int     // in its layer
	y     float64 // of its middle
}

// sweeps over the layers that look for fewer crossings.
const sweeps = 8

// layered gives the slots of a graph by layer, each layer in its order, and the
// chain of slots of each edge.
func layered(nodes []Node) (layers [][]*slot, chains []chain) {
	at := map[string]int{}
	for i, n := range nodes {
		if _, twice := at[n.ID]; !twice {
			at[n.ID] = i
		}
	}
	needs := acyclic(nodes, at)
	depth := make([]int, len(nodes))
	for _, i := range topological(needs) {
		for _, p := range needs[i] {
			depth[i] = max(depth[i], depth[p]+1)
		}
	}
	slots := make([]*slot, len(nodes))
	put := func(s *slot) {
		for len(layers) <= s.layer {
			layers = append(layers, nil)
		}
		s.order = len(layers[s.layer])
		layers[s.layer] = append(layers[s.layer], s)
	}
	for i := range nodes {
		slots[i] = &slot{node: i, layer: depth[i]}
		put(slots[i])
	}
	for i := range nodes {
		for _, p := range needs[i] {
			c := chain{slots[p]}
			for l := depth[p] + 1; l < depth[i]; l++ {
				bend := &slot{node: -1, layer: l}
				put(bend)
				c = append(c, bend)
			}
			c = append(c, slots[i])
			for k := 1; k < len(c); k++ {
				c[k-1].right = append(c[k-1].right, c[k])
				c[k].left = append(c[k].left, c[k-1])
			}
			chains = append(chains, c)
		}
	}
	uncross(layers)
	return layers, chains
}

// chain is an edge from its first slot to its last.
type chain []*slot

// acyclic gives the needs of each node by index, without those that close a cycle.
func acyclic(nodes []Node, at map[string]int) [][]int {
	needs := make([][]int, len(nodes))
	const fresh, open, done = 0, 1, 2
	state := make([]int, len(nodes))
	var visit func(i int)
	visit = func(i int) {
		state[i] = open
		for _, name := range nodes[i].Needs {
			p, ok := at[name]
			if !ok || p == i || slices.Contains(needs[i], p) {
				continue
			}
			if state[p] == fresh {
				visit(p)
			}
			if state[p] == done {
				needs[i] = append(needs[i], p)
			}
		}
		state[i] = done
	}
	for i := range nodes {
		if state[i] == fresh {
			visit(i)
		}
	}
	return needs
}

// topological gives the nodes in an order in which each stands behind what it needs.
func topological(needs [][]int) []int {
	order := make([]int, 0, len(needs))
	seen := make([]bool, len(needs))
	var visit func(i int)
	visit = func(i int) {
		if seen[i] {
			return
		}
		seen[i] = true
		for _, p := range needs[i] {
			visit(p)
		}
		order = append(order, i)
	}
	for i := range needs {
		visit(i)
	}
	return order
}

// uncross orders each layer by the middle of its neighbours, forth and back, and
// keeps the order with the fewest crossings.
func uncross(layers [][]*slot) {
	best, fewest := snapshot(layers), crossings(layers)
	for i := 0; i < sweeps && fewest > 0; i++ {
		if i%2 == 0 {
			for l := 1; l < len(layers); l++ {
				sortBy(layers[l], func(s *slot) []*slot { return s.left })
			}
		} else {
			for l := len(layers) - 2; l >= 0; l-- {
				sortBy(layers[l], func(s *slot) []*slot { return s.right })
			}
		}
		if n := crossings(layers); n < fewest {
			best, fewest = snapshot(layers), n
		}
	}
	for l := range layers {
		copy(layers[l], best[l])
		renumber(layers[l])
	}
}

func snapshot(layers [][]*slot) [][]*slot {
	all := make([][]*slot, len(layers))
	for i, l := range layers {
		all[i] = slices.Clone(l)
	}
	return all
}

func renumber(layer []*slot) {
	for i, s := range layer {
		s.order = i
	}
}

// sortBy orders a layer by the mean of the neighbours; slots without any stay where they are.
func sortBy(layer []*slot, neighbours func(*slot) []*slot) {
	mean := map[*slot]float64{}
	for _, s := range layer {
		mean[s] = float64(s.order)
		if near := neighbours(s); len(near) > 0 {
			sum := 0
			for _, n := range near {
				sum += n.order
			}
			mean[s] = float64(sum) / float64(len(near))
		}
	}
	slices.SortStableFunc(layer, func(a, b *slot) int { return cmp.Compare(mean[a], mean[b]) })
	renumber(layer)
}

// crossings counts pairs of edges that cross between two layers.
func crossings(layers [][]*slot) int {
	n := 0
	for _, layer := range layers {
		for i, a := range layer {
			for _, b := range layer[i+1:] {
				for _, x := range a.right {
					for _, y := range b.right {
						if x.order > y.order {
							n++
						}
					}
				}
			}
		}
	}
	return n
}
