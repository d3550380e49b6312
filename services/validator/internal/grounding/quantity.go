package grounding

import (
	"math/big"
	"strings"
)

// quantity is a number in a sentence with what it counts.
type quantity struct {
	value *big.Rat
	// decimals is how many digits stand behind the point.
	decimals int
	// dimension is what units compare in ("time", "EUR", "%"); "" is a bare number.
	dimension string
	// noun is the concept behind a bare number ("3 replicas").
	noun string
	// text is the quantity as written, at the token of its number.
	text string
	at   int
	// bound is +1 for "at least", -1 for "at most", 0 for neither.
	bound int
	// rough marks "about" and its like.
	rough bool
}

type measure struct {
	dimension string
	num, den  int64
}

// measures are the units that convert into each other, as fractions of the first of their dimension.
var measures = newMeasures(map[string]string{
	"time": "s sec secs second seconds 1/1;ms millisecond milliseconds 1/1000;µs us microsecond microseconds 1/1000000;" +
		"min mins minute minutes 60/1;h hr hrs hour hours 3600/1;d day days 86400/1;week weeks 604800/1;fortnight fortnights 1209600/1",
	"calendar": "month months 1/1;quarter quarters 3/1;year years yr yrs 12/1;decade decades 120/1;century centuries 1200/1",
	"length": "m metre metres meter meters 1/1;mm millimetre millimetres millimeter millimeters 1/1000;cm centimetre centimetres centimeter centimeters 1/100;" +
		"km kilometre kilometres kilometer kilometers 1000/1;ft foot feet 3048/10000;inch inches 254/10000;mile miles mi 1609344/1000;yard yards 9144/10000",
	"mass":        "kg kilogram kilograms kilo kilos 1/1;g gram grams 1/1000;mg milligram milligrams 1/1000000;mcg µg microgram micrograms 1/1000000000;t tonne tonnes ton tons 1000/1;lb lbs pound-mass 45359237/100000000",
	"data":        "byte bytes b 1/1;kb kilobyte kilobytes 1000/1;mb megabyte megabytes 1000000/1;gb gigabyte gigabytes 1000000000/1;tb terabyte terabytes 1000000000000/1;kib 1024/1;mib 1048576/1;gib 1073741824/1;tib 1099511627776/1",
	"volume":      "l litre litres liter liters 1/1;ml millilitre millilitres milliliter milliliters 1/1000;gallon gallons 3785411784/1000000000",
	"power":       "w watt watts 1/1;kw kilowatt kilowatts 1000/1;mw megawatt megawatts 1000000/1;gw gigawatt gigawatts 1000000000/1",
	"energy":      "wh 1/1;kwh 1000/1;mwh 1000000/1;gwh 1000000000/1",
	"frequency":   "hz hertz 1/1;khz kilohertz 1000/1;mhz megahertz 1000000/1;ghz gigahertz 1000000000/1",
	"%":           "% percent pct 1/1;‰ permille 1/10",
	"temperature": "°c celsius 1/1",
	"fahrenheit":  "°f fahrenheit 1/1",
	"°":           "° degree degrees 1/1",
	"EUR":         "€ eur euro euros 1/1;cent cents 1/100",
	"USD":         "$ usd dollar dollars 1/1",
	"GBP":         "£ gbp pound pounds 1/1",
	"JPY":         "¥ jpy yen 1/1",
	"INR":         "₹ inr rupee rupees 1/1",
	"CHF":         "chf franc francs 1/1",
})

// scales multiply the number before them.
var scales = map[string]int64{"hundred": 100, "thousand": 1000, "million": 1_000_000, "billion": 1_000_000_000, "trillion": 1_000_000_000_000, "bn": 1_000_000_000, "mn": 1_000_000}

var numberWords = map[string]int64{
	"zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
	"eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16, "seventeen": 17, "eighteen": 18, "nineteen": 19,
	"twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90,
	"once": 1, "twice": 2, "thrice": 3, "dozen": 12,
}

// ordinalWords are numbers in an order. "first", "second" and "last" are left to
// the opposites: they mean too many other things.
var ordinalWords = map[string]int64{
	"third": 3, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8, "ninth": 9, "tenth": 10, "eleventh": 11, "twelfth": 12,
}

// fractions are shares as sixths of a percent, so that a third is one of 100% as well.
var fractions = map[string]int64{"third": 200, "quarter": 150, "fifth": 120, "tenth": 60}

// spans stand before "a month" where it is a length of time and not how often.
var spans = wordSet("for within after in than about of until lasts takes took")

// numbered nouns make the number behind them an ordinal: "day four", "step 3".
var numbered = wordSet("day week month year step stage phase level chapter section page article paragraph line rule clause round")

func newMeasures(table map[string]string) map[string]measure {
	out := map[string]measure{}
	for dimension, list := range table {
		for entry := range strings.SplitSeq(list, ";") {
			words := strings.Fields(entry)
			num, den, _ := strings.Cut(words[len(words)-1], "/")
			n, _ := new(big.Int).SetString(num, 10)
			d, _ := new(big.Int).SetString(den, 10)
			for _, w := range words[:len(words)-1] {
				out[w] = measure{dimension, n.Int64(), d.Int64()}
			}
		}
	}
	return out
}

// findQuantities reads the numbers that dates have left.
func (s *sentence) findQuantities() {
	for i := 0; i < len(s.tokens); i++ {
		if q, next, ok := s.quantityAt(i); ok {
			s.quantities = append(s.quantities, q)
			i = next - 1
		}
	}
	// "3 to 5 days": the first number has the unit of the second.
	for i := 0; i+1 < len(s.quantities); i++ {
		a, b := &s.quantities[i], &s.quantities[i+1]
		if a.dimension == "" && b.at == a.at+2 && b.dimension != "" && (s.word(a.at+1) == "-" || s.word(a.at+1) == "–" || s.word(a.at+1) == "to") {
			if m, ok := measures[s.word(b.at+1)]; ok {
				a.dimension, a.noun = m.dimension, ""
				a.value = new(big.Rat).Mul(a.value, big.NewRat(m.num, m.den))
			}
		}
	}
}

func (s *sentence) word(i int) string {
	if i < 0 || i >= len(s.tokens) {
		return ""
	}
	return s.tokens[i].lower
}

func (s *sentence) quantityAt(i int) (quantity, int, bool) {
	t := s.tokens[i]
	if t.fact {
		return quantity{}, 0, false
	}
	q := quantity{at: i}
	next := i + 1
	if t.lower == "twice" && s.word(next) == "as" {
		return quantity{}, 0, false // "twice as fast"
	}
	if f, next, ok := s.fractionAt(i); ok {
		return f, next, true
	}
	switch n, isWord := numberWords[t.lower]; {
	case t.number:
		digits := strings.NewReplacer(",", "", " ", "", "\u00a0", "").Replace(t.raw)
		if _, frac, ok := strings.Cut(digits, "."); ok {
			q.decimals = len(frac)
		}
		q.value, _ = new(big.Rat).SetString(digits)
	case isWord:
		q.value = big.NewRat(n, 1)
		if n >= 20 && n < 100 && s.word(next) == "-" {
			if m, ok := numberWords[s.word(next+1)]; ok && m > 0 && m < 10 {
				q.value.Add(q.value, big.NewRat(m, 1))
				next += 2
			}
		}
	case fractions[t.lower] > 0 && (s.word(i-1) == "a" || s.word(i-1) == "one") && s.word(i+1) != "party":
		q.value = big.NewRat(fractions[t.lower], 6)
		q.dimension, q.text = "%", t.raw
		_, q.rough = s.qualifier(i - 1)
		t.fact = true
		return q, next, true
	case t.lower == "single" && s.word(next) != "sign":
		q.value = big.NewRat(1, 1)
	case (t.lower == "a" || t.lower == "an") && spans[s.word(i-1)] && timeLike(measures[s.word(next)].dimension):
		q.value = big.NewRat(1, 1)
	case ordinalWords[t.lower] > 0:
		q.value = big.NewRat(ordinalWords[t.lower], 1)
		q.dimension, q.text = "ordinal", t.raw
		t.fact = true
		return q, next, true
	default:
		return quantity{}, 0, false
	}
	if q.value == nil {
		return quantity{}, 0, false
	}
	spelled := t.lower == "a" || t.lower == "an"
	for {
		k, ok := scales[s.word(next)]
		if !ok {
			break
		}
		q.value.Mul(q.value, big.NewRat(k, 1))
		next++
	}
	next = s.unit(&q, i, next)
	q.bound, q.rough = s.qualifier(i)
	if spelled && q.dimension == "" {
		return quantity{}, 0, false
	}
	if bound := s.qualifiedBehind(next); q.bound == 0 {
		q.bound = bound
	}
	if t.lower == "once" && q.bound == 0 {
		return quantity{}, 0, false // "once it is signed"
	}
	if t.lower == "one" && q.dimension == "" && s.word(i-1) != "only" {
		return quantity{}, 0, false // "one of them", "no one"
	}
	for _, u := range s.tokens[i:next] {
		u.fact = true
	}
	q.text = s.text[s.tokens[i].start:s.tokens[next-1].end]
	if i > 0 && s.tokens[i-1].fact && currency(s.tokens[i-1]) {
		q.text = s.text[s.tokens[i-1].start:s.tokens[next-1].end]
	}
	return q, next, true
}

func currency(t *token) bool {
	m, ok := measures[t.lower]
	return ok && len(m.dimension) == 3 && m.dimension == strings.ToUpper(m.dimension)
}

// unit reads what stands around the number and returns the token behind it.
func (s *sentence) unit(q *quantity, i, next int) int {
	if i > 0 && currency(s.tokens[i-1]) && (len(s.tokens[i-1].raw) < 4 || s.tokens[i-1].raw == "€") {
		s.tokens[i-1].fact = true
		q.dimension = measures[s.word(i-1)].dimension
		return next
	}
	word, width := s.word(next), 1
	if word == "-" { // "30-day"
		word, width = s.word(next+1), 2
	}
	if word == "°" && (s.word(next+width) == "c" || s.word(next+width) == "f") {
		word += s.word(next + width)
		width++
	}
	if (word == "degree" || word == "degrees") && (s.word(next+width) == "celsius" || s.word(next+width) == "fahrenheit") {
		word = s.word(next + width)
		width++
	}
	if word == "st" || word == "nd" || word == "rd" || word == "th" {
		q.dimension = "ordinal"
		return next + width
	}
	if numbered[s.word(i-1)] {
		q.dimension = "ordinal"
		return next
	}
	m, ok := measures[word]
	if ok && len(word) == 1 && word != "%" && next < len(s.tokens) && s.tokens[next+width-1].capital && word != "b" && word != "w" && word != "l" {
		ok = false // "5 D" is not five days
	}
	if ok {
		q.dimension = m.dimension
		q.value = new(big.Rat).Mul(q.value, big.NewRat(m.num, m.den))
		return next + width
	}
	if next < len(s.tokens) && s.tokens[next].content() {
		q.noun = s.tokens[next].stem
	}
	return next
}

// qualifier reads "at least", "up to", "about" and their like before a number.
func (s *sentence) qualifier(i int) (bound int, rough bool) {
	from := max(0, i-4)
	before := make([]string, 0, 4)
	for _, t := range s.tokens[from:i] {
		if (t.number && !currency(t)) || t.lower == "," || t.lower == ";" {
			before = before[:0]
			continue
		}
		before = append(before, t.lower)
	}
	text := " " + strings.Join(before, " ") + " "
	has := func(list ...string) bool {
		for _, w := range list {
			if strings.Contains(text, " "+w+" ") {
				return true
			}
		}
		return false
	}
	rough = has("about", "approximately", "around", "roughly", "nearly", "almost", "some", "~", "≈", "ca")
	switch {
	case has("no more than", "not more than", "no longer than", "at most", "up to", "maximum of", "capped at", "limited to", "limit of", "maximum", "not exceed", "never exceed", "never exceeds", "never more than", "never longer than", "not exceeding", "maximum is", "most"):
		bound = -1
	case has("no less than", "no fewer than", "never less than", "not less than", "at least", "minimum of", "minimum is", "least", "≥"):
		bound = 1
	case has("more than", "over", "above", "exceeds", "exceeding", "longer than", "greater than", "higher than", ">"):
		bound = 1
	case has("less than", "under", "below", "fewer than", "within", "shorter than", "lower than", "<", "≤"):
		bound = -1
	}
	return bound, rough
}

// fractionAt reads parts of a unit: "half an hour", "three quarters of an hour",
// "one and a half years".
func (s *sentence) fractionAt(i int) (quantity, int, bool) {
	share, unit, next := big.NewRat(1, 2), i, 0
	switch n := numberWords[s.word(i)]; {
	case s.word(i) == "half" && (s.word(i+1) == "a" || s.word(i+1) == "an"):
		unit = i + 2
	case n > 0 && s.word(i+1) == "and" && s.word(i+2) == "a" && s.word(i+3) == "half":
		share.Add(share, big.NewRat(n, 1))
		unit = i + 4
	case s.word(i) == "three" && s.word(i+1) == "quarters" && s.word(i+2) == "of":
		share, unit = big.NewRat(3, 4), i+4
	case s.word(i) == "quarter" && s.word(i+1) == "of" && (s.word(i+2) == "a" || s.word(i+2) == "an"):
		share, unit = big.NewRat(1, 4), i+3
	case (s.word(i) == "a" || s.word(i) == "an") && s.word(i+2) == "and" && s.word(i+3) == "a" && s.word(i+4) == "half": // "an hour and a half"
		share.Add(share, big.NewRat(1, 1))
		unit = i + 1
		next = i + 5
	default:
		return quantity{}, 0, false
	}
	m, ok := measures[s.word(unit)]
	if !ok || unit >= len(s.tokens) {
		return quantity{}, 0, false
	}
	q := quantity{at: i, dimension: m.dimension, value: share.Mul(share, big.NewRat(m.num, m.den))}
	q.bound, q.rough = s.qualifier(i)
	next = max(next, unit+1)
	for _, u := range s.tokens[i:next] {
		u.fact = true
	}
	q.text = s.text[s.tokens[i].start:s.tokens[next-1].end]
	return q, next, true
}

// qualifiedBehind reads "or more", "and above" and their like behind a number and its unit.
func (s *sentence) qualifiedBehind(next int) int {
	if w := s.word(next); w != "or" && w != "and" {
		return 0
	}
	switch s.word(next + 1) {
	case "more", "above", "over", "older", "higher", "longer", "later", "greater", "upwards":
		return 1
	case "less", "below", "under", "younger", "fewer", "lower", "shorter", "earlier":
		return -1
	}
	return 0
}

// agrees tells whether the evidence states the quantity that is claimed.
func (q quantity) agrees(e quantity) bool {
	if q.dimension != e.dimension && q.dimension != "" && e.dimension != "" {
		return false
	}
	if q.dimension == "calendar" && e.dimension == "" && e.noun == "" && q.plain().Cmp(e.value) == 0 {
		return true // "16 years" and "aged 16"
	}
	if q.dimension != e.dimension && (q.dimension == "ordinal" || e.dimension == "ordinal" || q.noun != "" && e.dimension != "") {
		return false
	}
	a, b := q.value, e.value
	if q.dimension != e.dimension {
		a, b = q.plain(), e.plain()
	}
	diff := new(big.Rat).Sub(a, b)
	diff.Abs(diff)
	if diff.Sign() == 0 {
		return true
	}
	allowed := new(big.Rat)
	if q.rough {
		allowed.Mul(new(big.Rat).Abs(b), big.NewRat(1, 20))
	} else if q.decimals > 0 && q.decimals < e.decimals && q.dimension == e.dimension {
		ulp := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(q.decimals)), nil)
		allowed.SetFrac(big.NewInt(1), ulp.Mul(ulp, big.NewInt(2)))
		allowed.Mul(allowed, q.unitFactor())
	}
	return diff.Cmp(allowed) <= 0
}

// unitFactor is what the written number was multiplied with.
func (q quantity) unitFactor() *big.Rat {
	p := q.plain()
	if p.Sign() == 0 {
		return big.NewRat(1, 1)
	}
	return new(big.Rat).Quo(q.value, p)
}

// plain is the number as written, without its unit.
func (q quantity) plain() *big.Rat {
	fields := strings.FieldsFunc(q.text, func(r rune) bool { return (r < '0' || r > '9') && r != '.' && r != ',' })
	if len(fields) > 0 {
		if v, ok := new(big.Rat).SetString(strings.Trim(strings.ReplaceAll(fields[0], ",", ""), ".")); ok {
			return v
		}
	}
	return q.value
}

// comparable tells whether two quantities answer the same question, so that
// different values exclude each other.
func (q quantity) comparable(e quantity) bool {
	switch {
	case q.dimension != "" && e.dimension != "":
		return q.dimension == e.dimension || timeLike(q.dimension) && timeLike(e.dimension) || money(q.dimension) && money(e.dimension) ||
			q.plain().Cmp(e.plain()) == 0
	case q.dimension == "" && e.dimension == "":
		return q.noun == e.noun || q.noun == "" || e.noun == ""
	}
	return q.noun == "" && e.noun == ""
}

func timeLike(d string) bool { return d == "time" || d == "calendar" }
func money(d string) bool    { return len(d) == 3 && d == strings.ToUpper(d) }
