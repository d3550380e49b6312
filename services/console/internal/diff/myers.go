package diff

import "slices"

// step keeps, takes away or brings one piece.
type step struct {
	kind Kind
	text string
}

// shortest finds a way from a to b with the fewest changes (E. W. Myers, An O(ND)
// Difference Algorithm and Its Variations, 1986). It gives up beyond most changes.
func shortest(a, b []string) ([]step, bool) {
	limit := min(len(a)+len(b), most)
	// v[k+limit+1] is how far along a the diagonal k has come; trace keeps v of each round.
	v := make([]int, 2*limit+3)
	var trace [][]int
	for d := 0; d <= limit; d++ {
		trace = append(trace, slices.Clone(v[limit+1-d:limit+2+d]))
		for k := -d; k <= d; k += 2 {
			x := v[limit+k] + 1
			if k == -d || (k != d && v[limit+k] < v[limit+2+k]) {
				x = v[limit+2+k]
			}
			y := x - k
			for x < len(a) && y < len(b) && a[x] == b[y] {
				x, y = x+1, y+1
			}
			v[limit+1+k] = x
			if x >= len(a) && y >= len(b) {
				return walk(a, b, trace), true
			}
		}
	}
	return nil, false
}

// walk goes back from the ends of a and b and says each step, in order. trace[d] is
// how far the diagonals -d to d had come when round d began.
func walk(a, b []string, trace [][]int) []step {
	var out []step
	x, y := len(a), len(b)
	for d := len(trace) - 1; d > 0; d-- {
		at := func(k int) int { return trace[d][k+d] }
		k := x - y
		down := k == -d || (k != d && at(k-1) < at(k+1))
		from := k - 1
		if down {
			from = k + 1
		}
		startX, startY := at(from), at(from)-from
		for x > startX && y > startY {
			x, y = x-1, y-1
			out = append(out, step{Same, a[x]})
		}
		if down {
			y--
			out = append(out, step{Come, b[y]})
		} else {
			x--
			out = append(out, step{Gone, a[x]})
		}
	}
	for x > 0 {
		x--
		out = append(out, step{Same, a[x]})
	}
	slices.Reverse(out)
	return out
}
