package graph_test

import (
	"reflect"
	"strconv"
	"strings"
	"testing"

	"sabha.dev/services/console/internal/graph"
)

var size = graph.Size{Width: 100, Height: 40, Across: 50, Between: 20, Margin: 10}

// nodes reads a graph such as "a b<a c<a,b".
func nodes(s string) []graph.Node {
	var all []graph.Node
	for f := range strings.FieldsSeq(s) {
		id, needs, _ := strings.Cut(f, "<")
		n := graph.Node{ID: id}
		if needs != "" {
			n.Needs = strings.Split(needs, ",")
		}
		all = append(all, n)
	}
	return all
}

func TestNodesStandRightOfWhatTheyNeed(t *testing.T) {
	for _, c := range []struct{ graph, layers string }{
		{"a", "a=0"},
		{"a b<a c<b", "a=0 b=1 c=2"},
		{"a b c<a,b", "a=0 b=0 c=1"},
		{"a b<a c<a d<b,c", "a=0 b=1 c=1 d=2"},
		{"a b<a c<b d<a,c", "a=0 b=1 c=2 d=3"},
		{"c<b b<a a", "c=2 b=1 a=0"},
		{"a<b b<a", "a=1 b=0"},       // the second edge would close a cycle
		{"a<a b<nothing", "a=0 b=0"}, // nor is there one to itself, or from what is not there
	} {
		var got []string
		for _, b := range graph.Lay(nodes(c.graph), size).Boxes {
			got = append(got, b.ID+"="+strconv.Itoa(int(b.X-10)/150))
		}
		if s := strings.Join(got, " "); s != c.layers {
			t.Errorf("%s: %s, want %s", c.graph, s, c.layers)
		}
	}
}

func TestAChainIsStraight(t *testing.T) {
	d := graph.Lay(nodes("a b<a c<b"), size)
	want := graph.Drawing{
		Width: 420, Height: 60,
		Boxes: []graph.Box{{"a", graph.Point{X: 10, Y: 10}}, {"b", graph.Point{X: 160, Y: 10}}, {"c", graph.Point{X: 310, Y: 10}}},
		Edges: []graph.Edge{
			{"a", "b", []graph.Point{{X: 110, Y: 30}, {X: 160, Y: 30}}},
			{"b", "c", []graph.Point{{X: 260, Y: 30}, {X: 310, Y: 30}}},
		},
	}
	if !reflect.DeepEqual(d, want) {
		t.Errorf("%+v\nwant %+v", d, want)
	}
}

func TestAForkIsDrawnAroundItsMiddle(t *testing.T) {
	d := graph.Lay(nodes("a b<a c<a d<b,c"), size)
	at := map[string]graph.Point{}
	for _, b := range d.Boxes {
		at[b.ID] = b.Point
	}
	if at["b"].Y >= at["c"].Y || at["a"].Y != at["d"].Y || at["a"].Y*2 != at["b"].Y+at["c"].Y {
		t.Errorf("%v", at)
	}
}

func TestEdgesThatNeedNotCrossDoNot(t *testing.T) {
	d := graph.Lay(nodes("a b c<b d<a"), size)
	at := map[string]float64{}
	for _, b := range d.Boxes {
		at[b.ID] = b.Y
	}
	if (at["a"] < at["b"]) != (at["d"] < at["c"]) {
		t.Errorf("a→d crosses b→c: %v", at)
	}
}

func TestALongEdgePassesBesideTheNodesBetween(t *testing.T) {
	d := graph.Lay(nodes("a b<a c<a,b"), size)
	for _, e := range d.Edges {
		if e.From == "a" && e.To == "c" {
			if len(e.Points) != 4 || e.Points[1].Y != e.Points[2].Y {
				t.Fatalf("its points are %v", e.Points)
			}
			if y := e.Points[1].Y; y > d.Boxes[1].Y && y < d.Boxes[1].Y+40 {
				t.Errorf("it goes through b at %v", y)
			}
		}
	}
}

func FuzzAnyGraphIsLaidOutWithoutOverlap(f *testing.F) {
	for _, seed := range []string{"a b<a c<a,b", "a<b b<a", "a a a<a", "x<y,z y<z z<x", "a b c d e<a,b,c,d f<a g<f,e"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if len(s) > 200 {
			return
		}
		all := nodes(s)
		d := graph.Lay(all, size)
		if len(d.Boxes) != len(all) {
			t.Fatalf("%d boxes of %d nodes", len(d.Boxes), len(all))
		}
		for i, a := range d.Boxes {
			if a.X < 0 || a.Y < -.001 || a.X+100 > d.Width || a.Y+40 > d.Height+.001 {
				t.Errorf("%q: %v is outside of %v×%v", s, a, d.Width, d.Height)
			}
			for _, b := range d.Boxes[i+1:] {
				if a.X == b.X && a.Y < b.Y+39.99 && b.Y < a.Y+39.99 {
					t.Errorf("%q: %v and %v overlap", s, a, b)
				}
			}
		}
		for _, e := range d.Edges {
			if e.Points[0].X >= e.Points[len(e.Points)-1].X {
				t.Errorf("%q: an edge leads back: %+v", s, e)
			}
		}
		if again := graph.Lay(all, size); !reflect.DeepEqual(again, d) {
			t.Errorf("%q is laid out otherwise the second time", s)
		}
	})
}
