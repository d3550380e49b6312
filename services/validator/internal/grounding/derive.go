package grounding

import "math/big"

// derived tells whether the quantity follows from what the evidence states by
// one step of arithmetic: half or twice a value, a share of one, the product of
// a count and a value, a sum, a difference, or the time between two dates.
func (e evidence) derived(claim *sentence, q quantity) bool {
	var all []quantity
	for _, s := range e.sentences {
		all = append(all, s.quantities...)
	}
	halved := claim.mentions(halving) != nil || e.mentions(halving)
	for i, a := range all {
		if converts(q, a) {
			return true
		}
		if halved && q.dimension == a.dimension && (q.near(times(a.value, 1, 2)) || q.near(times(a.value, 2, 1))) {
			return true
		}
		if halved && q.dimension == "" && a.dimension == "" && q.near(times(a.value, 1, 2)) {
			return true
		}
		for j, b := range all {
			if i == j {
				continue
			}
			if a.dimension == "" && b.dimension == q.dimension && q.near(new(big.Rat).Mul(a.value, b.value)) && q.dimension != "" && a.value.Cmp(big.NewRat(1, 1)) > 0 {
				return true
			}
			if a.dimension == "%" && b.dimension == q.dimension && q.dimension != "%" && q.near(times(new(big.Rat).Mul(a.value, b.value), 1, 100)) {
				return true
			}
			if j > i && a.dimension == b.dimension && a.dimension == q.dimension && q.dimension != "" && q.dimension != "ordinal" {
				diff := new(big.Rat).Sub(a.value, b.value)
				if q.near(diff.Abs(diff)) || q.near(new(big.Rat).Add(a.value, b.value)) {
					return true
				}
			}
		}
	}
	return e.elapsed(q)
}

var halving = wordSet("half halves halved twice double doubled doubles halve")

// near tells whether the quantity is the value, or about it where the claim says about.
func (q quantity) near(v *big.Rat) bool {
	diff := new(big.Rat).Sub(q.value, v)
	diff.Abs(diff)
	allowed := new(big.Rat)
	if q.rough {
		allowed.Mul(new(big.Rat).Abs(v), big.NewRat(3, 100))
	}
	return v.Sign() != 0 && diff.Cmp(allowed) <= 0
}

func times(v *big.Rat, num, den int64) *big.Rat {
	return new(big.Rat).Mul(v, big.NewRat(num, den))
}

// converts tells whether two spans of time, one in months and one in days, are the same to a day in twenty.
func converts(q, f quantity) bool {
	if q.dimension == f.dimension || !timeLike(q.dimension) || !timeLike(f.dimension) {
		return false
	}
	month := big.NewRat(86400*3044, 100)
	a, b := q.value, f.value
	if q.dimension == "calendar" {
		a = new(big.Rat).Mul(a, month)
	} else {
		b = new(big.Rat).Mul(b, month)
	}
	diff := new(big.Rat).Sub(a, b)
	return diff.Abs(diff).Cmp(times(b, 1, 20)) <= 0
}

// elapsed tells whether the quantity is the time between two dates of the evidence.
func (e evidence) elapsed(q quantity) bool {
	if !timeLike(q.dimension) {
		return false
	}
	var all []date
	for _, s := range e.sentences {
		all = append(all, s.dates...)
	}
	for i, a := range all {
		for _, b := range all[:i] {
			var span *big.Rat
			switch {
			case a.minute >= 0 && b.minute >= 0 && q.dimension == "time":
				span = big.NewRat(int64(a.minute-b.minute)*60, 1)
			case a.year > 0 && b.year > 0 && q.dimension == "calendar":
				span = big.NewRat(int64((a.year-b.year)*12+a.month-b.month), 1)
				if a.day == 0 || b.day == 0 || a.day-b.day > 25 || b.day-a.day > 25 { // from the 1st to the last day of a month is a month more
					if q.near(new(big.Rat).Abs(new(big.Rat).Add(span, big.NewRat(int64(span.Sign()), 1)))) {
						return true
					}
				}
			default:
				continue
			}
			if q.near(span.Abs(span)) {
				return true
			}
		}
	}
	return false
}

// later tells whether a time of day follows from one of the evidence and a span that it states.
func (e evidence) later(d date) bool {
	if d.minute < 0 {
		return false
	}
	for _, s := range e.sentences {
		for _, f := range s.dates {
			for _, o := range e.sentences {
				for _, q := range o.quantities {
					if f.minute < 0 || q.dimension != "time" {
						continue
					}
					diff := big.NewRat(int64(d.minute-f.minute)*60, 1)
					if diff.Sign() != 0 && diff.Abs(diff).Cmp(q.value) == 0 {
						return true
					}
				}
			}
		}
	}
	return false
}

// within tells whether the claim's value lies in what the evidence leaves open: "year 10" in "year 9 and above".
func (q quantity) within(f quantity) bool {
	if f.bound == 0 || q.bound != 0 {
		return false
	}
	if q.dimension == "calendar" && f.dimension == "" { // "15 years old" and "under 16"
		return q.plain().Cmp(f.value)*f.bound >= 0
	}
	if q.dimension != f.dimension {
		return false
	}
	return q.value.Cmp(f.value)*f.bound >= 0
}

// satisfied tells whether the evidence's value lies in what the claim leaves open: "less than an hour" and "50 minutes".
func (q quantity) satisfied(f quantity) bool {
	if q.bound == 0 || f.bound != 0 || q.dimension != f.dimension || q.noun != f.noun {
		return false
	}
	return f.value.Cmp(q.value)*q.bound > 0
}
