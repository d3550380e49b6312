package screening

import (
	mathbits "math/bits"

	"sabha.dev/services/security/internal/plaintext"
)

// How context changes the weight of a signal.
const (
	// A phrase in quotation marks inside a question or a text about attacks is
	// mentioned, not used.
	mentioned = 0.3
	// A question about something, or a text about attacks, asks for nothing itself.
	discussed = 0.45
	// A question about the agent's own rules is one step from asking for them.
	addressed = 0.75
	// A disguised word, a hidden place or an encoding shows intent: the weight goes
	// this share of the way up to 1.
	intent = 0.35
)

// found is the weightiest occurrence of a rule.
type found struct {
	weight float64
	via    string
}

type findings struct {
	best []found
	// encoded tells that a signal of some weight was found in a decoded view only.
	encoded, disguised, hidden float64
}

func (f *findings) add(rule int, weight float64, via string) {
	if weight > f.best[rule].weight {
		f.best[rule] = found{weight, via}
	}
}

// scan looks for every rule in one view.
func (s *Screener) scan(v *plaintext.View, f *findings) {
	t := tokenise(s.lexicon, v.Text)
	c := s.context(t)
	plain := v.Via == plaintext.Plain
	for i := range t.tokens {
		for word, bits := range t.tokens[i].concepts {
			for ; bits != 0; bits &= bits - 1 {
				for _, p := range s.rules.starting[word*64+mathbits.TrailingZeros64(bits)] {
					s.try(v, t, c, s.rules.phrases[p], i, f)
				}
			}
		}
	}
	// Rearranged text keeps no markup.
	if v.Via == plaintext.Fragments || v.Via == plaintext.Reversed || v.Via == plaintext.Rot13 {
		return
	}
	for _, p := range s.rules.structures {
		if !p.find(v.Text) {
			continue
		}
		weight := s.rules.rules[p.rule].weight
		if plain && c.asks {
			weight *= discussed
		}
		if !plain {
			f.encoded = max(f.encoded, weight)
		}
		f.add(p.rule, weight, v.Via)
	}
}

// try looks for one phrase at token i and notes what it weighs there.
func (s *Screener) try(v *plaintext.View, t text, c setting, p phrase, i int, f *findings) {
	plain := v.Via == plaintext.Plain
	last, ok := p.match(t.tokens, i)
	if !ok {
		return
	}
	r := s.rules.rules[p.rule]
	weight, via := r.weight, v.Via
	// Read backwards or rotated, ordinary text yields short words by chance.
	if (v.Via == plaintext.Rot13 || v.Via == plaintext.Reversed) && (weight < 0.5 || disguised(t.tokens[i:last+1])) {
		return
	}
	if plain && !r.direct {
		weight *= s.factor(c, t, i, last)
	}
	if r.negatable && s.negated(t.tokens, i) {
		weight *= mentioned
	}
	if r.unless != "" && c.said[t.tokens[i].segment].has(s.lexicon.concepts[r.unless]) {
		weight *= discussed
	}
	if disguised(t.tokens[i : last+1]) {
		f.disguised = max(f.disguised, weight)
		weight, via = weight+(1-weight)*intent, "disguised words"
	}
	if t.segments[t.tokens[i].segment].hidden {
		f.hidden = max(f.hidden, weight)
		weight += (1 - weight) * intent
	}
	if !plain {
		f.encoded = max(f.encoded, weight)
	}
	f.add(p.rule, weight, via)
}

// negated tells whether the word at i is forbidden rather than asked for.
func (s *Screener) negated(tokens []token, i int) bool {
	before, after := s.lexicon.concepts["negated"], s.lexicon.concepts["negafter"]
	for j := max(0, i-2); j < i; j++ {
		if !tokens[i].clause && tokens[j].sentence == tokens[i].sentence && tokens[j].concepts.has(before) {
			return true
		}
	}
	for j := i + 1; j <= min(i+3, len(tokens)-1); j++ {
		if tokens[j].sentence == tokens[i].sentence && tokens[j].concepts.has(after) {
			return true
		}
	}
	return false
}

func disguised(tokens []token) bool {
	n := 0
	for _, t := range tokens {
		if t.disguised {
			n++
		}
	}
	return n > 0
}

// setting is what surrounds the phrases of a text.
type setting struct {
	// about marks segments that ask about something or talk about attacks.
	about []bool
	// said holds, for each segment, all concepts of its words.
	said []set
	// asks tells that the text as a whole is a question: its first segment
	// asks or talks about attacks, or its last ends with a question mark.
	asks bool
}

func (s *Screener) context(t text) setting {
	ask, meta := s.lexicon.concepts["ask"], s.lexicon.concepts["meta"]
	c := setting{about: make([]bool, len(t.segments)), said: make([]set, len(t.segments))}
	for i, g := range t.segments {
		for _, k := range t.tokens[g.first:g.end] {
			c.said[i] = c.said[i].with(k.concepts)
		}
		c.about[i] = g.question || t.tokens[g.first].concepts.has(ask) || c.said[i].has(meta)
	}
	if n := len(c.about); n > 0 {
		c.asks = t.segments[n-1].question || c.about[0]
	}
	return c
}

// factor is what a phrase from token i to token last weighs for where it stands.
func (s *Screener) factor(c setting, t text, i, last int) float64 {
	k := t.tokens[i]
	g := t.segments[k.segment]
	if !c.about[k.segment] {
		if k.quoted && c.asks {
			return mentioned
		}
		return 1
	}
	if k.quoted {
		return mentioned
	}
	// A clause of its own that commands is no part of the question before it.
	if k.clause && !g.hidden {
		return 1
	}
	for _, p := range t.tokens[i : last+1] {
		if p.concepts.has(s.lexicon.concepts["your"]) {
			return addressed
		}
	}
	return discussed
}
