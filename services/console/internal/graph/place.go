package graph

// Size of what is drawn, in the units of the drawing.
type Size struct {
	// Width and Height of a node.
	Width, Height float64
	// Across is the space between layers, Between that between nodes of a layer.
	Across, Between float64
	// Margin around the graph.
	Margin float64
}

// Point of a drawing.
type Point struct{ X, Y float64 }

// Box is where a node stands: its upper left corner.
type Box struct {
	ID string
	Point
}

// Edge leads from the right side of a node to the left side of another over its
// points, the first and the last of which are on those sides.
type Edge struct {
	From, To string
	Points   []Point
}

// Drawing of a graph.
type Drawing struct {
	Width, Height float64
	// Boxes in the order of the nodes.
	Boxes []Box
	Edges []Edge
}

// passes over the layers that pull nodes towards their neighbours.
const passes = 60

// Lay lays out a graph. The same graph is laid out the same each time, whatever
// the states of its nodes, so that a drawing that is brought up to date does not jump.
func Lay(nodes []Node, size Size) Drawing {
	if len(nodes) == 0 {
		return Drawing{}
	}
	layers, chains := layered(nodes)
	place(layers, size)
	d := Drawing{Boxes: make([]Box, len(nodes))}
	x := func(l int) float64 { return size.Margin + float64(l)*(size.Width+size.Across) }
	lowest := 0.0
	for l, layer := range layers {
		for _, s := range layer {
			lowest = max(lowest, s.y)
			if s.node >= 0 {
				d.Boxes[s.node] = Box{nodes[s.node].ID, Point{x(l), s.y - size.Height/2}}
			}
		}
	}
	for _, c := range chains {
		first, last := c[0], c[len(c)-1]
		e := Edge{From: nodes[first.node].ID, To: nodes[last.node].ID, Points: []Point{{x(first.layer) + size.Width, first.y}}}
		for _, bend := range c[1 : len(c)-1] { // straight past the nodes of the layer
			e.Points = append(e.Points, Point{x(bend.layer), bend.y}, Point{x(bend.layer) + size.Width, bend.y})
		}
		e.Points = append(e.Points, Point{x(last.layer), last.y})
		d.Edges = append(d.Edges, e)
	}
	d.Width = x(len(layers)-1) + size.Width + size.Margin
	d.Height = lowest + size.Height/2 + size.Margin
	return d
}

// place gives every slot its height: in its order, apart, and near its neighbours.
func place(layers [][]*slot, size Size) {
	apart := func(a, b *slot) float64 {
		half := func(s *slot) float64 {
			if s.node < 0 {
				return 0
			}
			return size.Height / 2
		}
		return half(a) + half(b) + size.Between
	}
	for _, layer := range layers {
		y := 0.0
		for i, s := range layer {
			if i > 0 {
				y += apart(layer[i-1], s)
			}
			s.y = y
		}
		for _, s := range layer {
			s.y -= y / 2
		}
	}
	for i := range passes {
		for n := range layers {
			layer := layers[n]
			if i%2 == 1 {
				layer = layers[len(layers)-1-n]
			}
			pull(layer, apart)
		}
	}
	top := layers[0][0].y
	for _, layer := range layers {
		for _, s := range layer {
			top = min(top, s.y)
		}
	}
	for _, layer := range layers {
		for _, s := range layer {
			s.y += size.Margin + size.Height/2 - top
		}
	}
}

// pull moves the slots of a layer to the middle of their neighbours as far as
// their order and distance let it: from both ends, halfway.
func pull(layer []*slot, apart func(a, b *slot) float64) {
	want := make([]float64, len(layer))
	for i, s := range layer {
		want[i] = s.y
		if n := len(s.left) + len(s.right); n > 0 {
			sum := 0.0
			for _, near := range s.left {
				sum += near.y
			}
			for _, near := range s.right {
				sum += near.y
			}
			want[i] = sum / float64(n)
		}
	}
	down, up := make([]float64, len(layer)), make([]float64, len(layer))
	for i := range layer {
		down[i] = want[i]
		if i > 0 {
			down[i] = max(down[i], down[i-1]+apart(layer[i-1], layer[i]))
		}
	}
	for i := len(layer) - 1; i >= 0; i-- {
		up[i] = want[i]
		if i < len(layer)-1 {
			up[i] = min(up[i], up[i+1]-apart(layer[i], layer[i+1]))
		}
	}
	for i, s := range layer {
		s.y = (down[i] + up[i]) / 2
	}
}
