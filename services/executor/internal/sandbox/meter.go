package sandbox

import (
	"fmt"

	"go.starlark.net/starlark"
)

// Sizes in bytes on a 64-bit machine, rounded up.
const (
	slotBytes  = 16  // a value in a list, a tuple or a variable
	listBytes  = 48  // an empty list, a tuple's header
	funcBytes  = 128 // a function, a bound method
	tableBytes = 512 // an empty dict or set, which has room for eight
	entryBytes = 128 // an entry of a dict or set, with the slack of a growing table

	textPerHop    = 256 // bytes of text that cost one step
	stepsPerVisit = 4   // steps that visiting one value of a structure costs
)

// meter counts what one run uses. It belongs to one goroutine.
type meter struct {
	limits     Limits
	thread     *starlark.Thread
	used       int64 // bytes of memory
	outOfSteps bool
	printed    []byte
}

func newMeter(limits Limits) *meter {
	m := &meter{limits: limits}
	m.thread = &starlark.Thread{Name: "snippet", Print: m.print}
	m.thread.SetMaxExecutionSteps(uint64(limits.Steps))
	m.thread.OnMaxSteps = func(t *starlark.Thread) {
		m.outOfSteps = true
		t.Cancel("too many steps")
	}
	return m
}

func (m *meter) stepsMessage() string {
	return fmt.Sprintf("the snippet takes more than %d steps; do less in one snippet", m.limits.Steps)
}

// reserve checks that n more bytes may be asked for.
func (m *meter) reserve(n int64) error {
	if n < 0 || n > m.limits.Memory-m.used {
		return &Failure{Kind: Memory, Message: fmt.Sprintf(
			"the snippet needs more than %d bytes of memory; keep less data in one snippet", m.limits.Memory)}
	}
	return nil
}

// charge counts n bytes.
func (m *meter) charge(n int64) error {
	if err := m.reserve(n); err != nil {
		return err
	}
	m.used += n
	return nil
}

// work counts n steps before the work that they stand for is done.
func (m *meter) work(n int64) error {
	if n < 0 || n > m.limits.Steps-int64(m.thread.Steps) {
		m.outOfSteps = true
		return &Failure{Kind: Steps, Message: m.stepsMessage()}
	}
	m.thread.Steps += uint64(n)
	return nil
}

// product multiplies sizes, where -1 stands for more than any limit.
func product(a, b int64) int64 {
	const ceiling = 1 << 50
	if a == 0 || b == 0 {
		return 0
	}
	if a < 0 || b < 0 || a > ceiling/b {
		return -1
	}
	return a * b
}

// sizeOf is what a new value takes itself, without the values it refers to.
func sizeOf(v starlark.Value) int64 {
	switch v := v.(type) {
	case starlark.NoneType, starlark.Bool:
		return 0
	case starlark.Int:
		return intBytes(v)
	case starlark.Float:
		return 16
	case starlark.String:
		return 16 + int64(len(v))
	case starlark.Bytes:
		return 16 + int64(len(v))
	case *starlark.List:
		return listBytes + slotBytes*int64(v.Len())
	case starlark.Tuple:
		return listBytes + slotBytes*int64(len(v))
	case *starlark.Dict:
		return tableBytes + entryBytes*int64(v.Len())
	case *starlark.Set:
		return tableBytes + entryBytes*int64(v.Len())
	default:
		return funcBytes
	}
}

func intBytes(v starlark.Int) int64 {
	if i, ok := v.Int64(); ok && i == int64(int32(i)) {
		return 0 // held in the pointer itself
	}
	return 48 + int64(v.BigInt().BitLen())/8
}

func checkInt(v starlark.Value) error {
	if i, ok := v.(starlark.Int); ok {
		if _, small := i.Int64(); !small && i.BigInt().BitLen() > MaxIntBits {
			return tooManyBits()
		}
	}
	return nil
}

func tooManyBits() error {
	return &Failure{Kind: Memory, Message: fmt.Sprintf("an integer has more than %d bits, the limit here", MaxIntBits)}
}

// weight is the work of visiting a value and all it refers to: one for each
// value, more for long texts. It stops counting above ceiling, so that a small
// graph that unfolds into an enormous tree costs little to refuse. A value nested
// deeper than MaxDepth, or within itself, is a failure.
func weight(v starlark.Value, ceiling int64) (int64, error) {
	return weigh(v, ceiling, MaxDepth, func(v starlark.Value) int64 {
		switch v := v.(type) {
		case starlark.String:
			return 1 + int64(len(v))/textPerHop
		case starlark.Bytes:
			return 1 + int64(len(v))/textPerHop
		default:
			return 1
		}
	})
}

// textSize is an upper bound of the bytes of a value written by repr.
func textSize(v starlark.Value, ceiling int64) (int64, error) {
	return weigh(v, ceiling, MaxDepth, func(v starlark.Value) int64 {
		switch v := v.(type) {
		case starlark.String:
			return 4 + 4*int64(len(v)) // \x00
		case starlark.Bytes:
			return 5 + 4*int64(len(v))
		case starlark.Int:
			return 8 + intBytes(v)*5/2
		case starlark.NoneType, starlark.Bool:
			return 8
		default:
			return 64
		}
	})
}

func weigh(v starlark.Value, ceiling int64, depth int, own func(starlark.Value) int64) (int64, error) {
	if depth == 0 {
		return 0, &Failure{Kind: Depth, Message: fmt.Sprintf("a value is nested more than %d deep, or within itself", MaxDepth)}
	}
	total := own(v)
	add := func(e starlark.Value) error {
		n, err := weigh(e, ceiling-total, depth-1, own)
		total += n
		return err
	}
	switch v := v.(type) {
	case starlark.Tuple:
		for i := 0; i < len(v) && total <= ceiling; i++ {
			if err := add(v[i]); err != nil {
				return 0, err
			}
		}
	case *starlark.List:
		for i := 0; i < v.Len() && total <= ceiling; i++ {
			if err := add(v.Index(i)); err != nil {
				return 0, err
			}
		}
	case *starlark.Dict:
		for k, e := range v.Entries() {
			if total > ceiling {
				break
			}
			if err := add(k); err != nil {
				return 0, err
			}
			if err := add(e); err != nil {
				return 0, err
			}
		}
	case *starlark.Set:
		for e := range v.Elements() {
			if total > ceiling {
				break
			}
			if err := add(e); err != nil {
				return 0, err
			}
		}
	}
	return total, nil
}

// workOver counts the work of visiting all of v.
func (m *meter) workOver(v starlark.Value) error {
	switch v := v.(type) {
	case starlark.Int, starlark.Float, starlark.Bool, starlark.NoneType:
		return nil
	case starlark.String:
		return m.work(int64(len(v)) / textPerHop)
	}
	n, err := weight(v, (m.limits.Steps-int64(m.thread.Steps))/stepsPerVisit)
	if err != nil {
		return err
	}
	return m.work(n * stepsPerVisit)
}

// length is the number of elements of an iterable; 0 for all else. Every iterable
// of this environment is a sequence.
func length(v starlark.Value) int64 {
	if s, ok := v.(starlark.Sequence); ok {
		return int64(s.Len())
	}
	return 0
}

// visit counts the work of going through the elements of v and looking at each.
func (m *meter) visit(v starlark.Value) error {
	switch v.(type) {
	case *starlark.List, starlark.Tuple, *starlark.Dict, *starlark.Set, starlark.String, starlark.Bytes:
		return m.workOver(v)
	default:
		return m.work(length(v))
	}
}

// elementBytes is what the elements of v take that exist only once they are
// asked for: the integers of a range.
func elementBytes(v starlark.Value) int64 {
	seq, ok := v.(starlark.Indexable)
	if !ok || v.Type() != "range" || seq.Len() == 0 {
		return 0
	}
	return product(int64(seq.Len()), max(sizeOf(seq.Index(0)), sizeOf(seq.Index(seq.Len()-1))))
}
