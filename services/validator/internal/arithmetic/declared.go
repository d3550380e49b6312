package arithmetic

import (
	"errors"
	"math/big"
)

// Declared is a computation stated beside an answer.
type Declared struct {
	Name       string
	Expression string
	// Value is a JSON number or a string that holds one; the decimals of a string
	// are kept, so "33.30" is compared to two decimals and 33.3 to one.
	Value any
}

// Check recomputes a declared computation over the data. A computation that
// has no value (a division by zero, a path that the data lacks) fails with the
// reason; a *SyntaxError is returned as an error, as is a value that is no number.
func (d Declared) Check(data any) (Statement, error) {
	s := Statement{Name: d.Name, Text: d.Expression}
	stated, decimals, err := Number(d.Value)
	if err != nil {
		return s, err
	}
	var lookup Lookup
	if data != nil {
		lookup = In(data)
	}
	computed, err := Evaluate(d.Expression, lookup)
	var syntax *SyntaxError
	switch {
	case errors.As(err, &syntax):
		return s, err
	case err != nil:
		s.Stated, s.Reason = decimal(stated), err.Error()
		return s, nil
	}
	return finish(s, computed, stated, agree(computed, stated, decimals, big.NewRat(1, 1))), nil
}
