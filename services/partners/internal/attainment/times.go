package attainment

import (
	"math/bits"
	"time"
)

// Answer times are counted in slots: of equal width below 64 µs, and 32 of them to each
// doubling from there. A time that is read back is the middle of its slot, so it is off by
// less than one part in 64, or by half a microsecond.
const perDoubling = 32

// slot that a time is counted in.
func slot(d time.Duration) int {
	v := uint64(max(0, d.Microseconds()))
	e := max(0, bits.Len64(v)-6)
	return e*perDoubling + int(v>>e)
}

// middle is the time that stands for a slot.
func middle(slot int) time.Duration {
	if slot < 2*perDoubling {
		return time.Duration(slot)*time.Microsecond + 500*time.Nanosecond
	}
	e := slot/perDoubling - 1
	low := uint64(slot-e*perDoubling) << e
	return time.Duration(low)*time.Microsecond + time.Duration(1<<e)*time.Microsecond/2
}

// Times is how many answers took how long, by slot.
type Times map[int]int64

// Count of all answers.
func (t Times) Count() (n int64) {
	for _, k := range t {
		n += k
	}
	return n
}
