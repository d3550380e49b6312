package grounding

import "fmt"

// universals make a statement one about everything or every time.
var universals = wordSet("all every each always any everybody everyone anybody anyone never ever full fully entire entirely whole completely whatever whenever anything everything both either whoever")

// restrictors make a statement one about a part, some times or a condition.
var restrictors = wordSet("some most half part partly several only except unless if provided exceptional certain few many usually normally often sometimes rarely rare third quarter exceptions limited mainly partial")

// conditions make what is said depend on something.
var conditions = wordSet("only unless except if when whenever provided until without where whether once after before during")

// exclusives say that nothing else is so; companions that something else is.
var (
	exclusives = wordSet("only solely exclusively unless except until alone sole merely just")
	companions = wordSet("either both also everyone everybody any all each too and or")
)

func (s *sentence) mentions(set map[string]bool) *token {
	for _, t := range s.tokens {
		if set[t.lower] {
			return t
		}
	}
	return nil
}

func (e evidence) mentions(set map[string]bool) bool {
	for _, s := range e.sentences {
		if s.mentions(set) != nil {
			return true
		}
	}
	return false
}

// scope compares what claim and evidence speak of: all of it or a part, only it
// or more, on a condition or without one.
func (c *comparison) scope(claim, s *sentence) {
	if w := claim.universal(); w != nil && (s.universal() == nil || s.mentions(exclusives) != nil && claim.mentions(exclusives) == nil) {
		if r := s.mentions(restrictors); r != nil || s.partOf() {
			said := "a part"
			if r != nil {
				said = r.lower
			}
			c.found(scopeWidened, fmt.Sprintf("the claim says %q, where the passage says %q", w.lower, said))
		} else {
			c.found(scopeUnsaid, fmt.Sprintf("the passage does not say %q", w.lower))
		}
	}
	if o := claim.mentions(exclusives); o != nil && o.lower == "only" && !claim.numberAt(o.at+1) && !c.evidence.mentions(exclusives) {
		if also := s.mentions(companions); also != nil && (also.lower != "and" && also.lower != "or") {
			c.found(onlyDenied, fmt.Sprintf("the claim says only, where the passage says %q", also.lower))
		} else {
			c.found(onlyUnsaid, "the passage does not say only")
		}
	}
	if r := s.mentions(exclusives); r != nil && r.lower != "until" && !c.excepted(claim, s) && claim.mentions(conditions) == nil && claim.mentions(restrictors) == nil {
		c.found(conditionLost, fmt.Sprintf("the claim leaves out what the passage says with %q", r.lower))
	}
}

// excepted tells whether the claim speaks of what the sentence excepts.
func (c *comparison) excepted(claim, s *sentence) bool {
	for _, u := range s.tokens {
		if u.excepted && (evidence{sentences: []*sentence{claim}}).match(u) > 0 {
			return true
		}
	}
	return false
}

// universal is the word that makes the sentence one about everything, or nil.
// "each day" and "every month" say how often and do not count.
func (s *sentence) universal() *token {
	for _, t := range s.tokens {
		if !universals[t.lower] || s.word(t.at-1) == "nearly" || s.word(t.at-1) == "almost" || s.word(t.at-1) == "not" {
			continue
		}
		if _, unit := measures[s.word(t.at+1)]; unit && (t.lower == "each" || t.lower == "every") && s.word(t.at+2) != "of" {
			continue
		}
		return t
	}
	return nil
}

// partOf tells whether the sentence counts a part: "31 of 142", "18%", "one of the nine".
func (s *sentence) partOf() bool {
	for i, t := range s.tokens {
		if t.lower == "one" && s.word(i+1) == "of" {
			return true
		}
	}
	for i, q := range s.quantities {
		if q.dimension == "%" && s.word(q.at-1) != "by" {
			return true
		}
		if i > 0 && (s.word(q.at-1) == "of" || s.word(q.at-2) == "of") && q.at-s.quantities[i-1].at <= 3 {
			return true
		}
	}
	return false
}

func (s *sentence) numberAt(i int) bool {
	for _, q := range s.quantities {
		if q.at == i || q.at == i+1 {
			return true
		}
	}
	return false
}
