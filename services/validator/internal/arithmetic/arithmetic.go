// Package arithmetic recomputes the numeric statements of an answer exactly:
// sums, differences, products, quotients, percentages and percentage changes
// as they are written in prose, and computations that are declared beside it.
package arithmetic

import (
	"fmt"
	"math/big"
	"strings"
)

// Statement is one recomputed statement.
type Statement struct {
	// Name is the name of a declared computation, empty for one found in the answer.
	Name string
	// Text is the statement as written, or the declared expression.
	Text string
	// Start and End are byte offsets in the answer; both 0 for a declared computation.
	Start, End int
	// Stated and Computed are decimal numbers.
	Stated, Computed string
	// Passed tells whether they agree within half a unit of the last printed decimal.
	Passed bool
	Reason string
}

// agree compares a computed value with a stated one that is printed with some
// decimals, in units of scale: 1.2 million has one decimal of a scale of a million.
func agree(computed, stated *big.Rat, decimals int, scale *big.Rat) bool {
	diff := new(big.Rat).Sub(computed, stated)
	diff.Abs(diff)
	return diff.Cmp(tolerance(decimals, scale)) <= 0
}

// tolerance is half a unit of the last printed decimal.
func tolerance(decimals int, scale *big.Rat) *big.Rat {
	ten := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(decimals)), nil)
	t := new(big.Rat).SetFrac(big.NewInt(1), ten.Mul(ten, big.NewInt(2)))
	return t.Mul(t, scale)
}

// decimal prints a number exactly where that takes few decimals, and rounded otherwise.
func decimal(v *big.Rat) string {
	if v.IsInt() {
		return v.Num().String()
	}
	if n, exact := v.FloatPrec(); exact && n <= 12 {
		return v.FloatString(n)
	}
	s := v.FloatString(6)
	return strings.TrimRight(strings.TrimRight(s, "0"), ".")
}

// finish fills in the verdict of a statement.
func finish(s Statement, computed, stated *big.Rat, passed bool) Statement {
	s.Stated, s.Computed, s.Passed = decimal(stated), decimal(computed), passed
	if passed {
		s.Reason = fmt.Sprintf("recomputed: %s", s.Computed)
	} else {
		s.Reason = fmt.Sprintf("recomputed: %s, stated: %s", s.Computed, s.Stated)
	}
	return s
}
