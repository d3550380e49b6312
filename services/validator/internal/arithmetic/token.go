package arithmetic

import (
	"math/big"
	"regexp"
	"strings"
)

var plainNumber = regexp.MustCompile(`^[+-]?(?:\d+(?:\.\d*)?|\.\d+)$`)

// token is a number, an operator or a relation of a text.
type token struct {
	kind       byte // 'n' number, 'o' operator, 'r' relation, '(' ')', 'w' other word
	text       string
	start, end int
	// for numbers
	value    *big.Rat
	decimals int
	scale    *big.Rat
	percent  bool
	currency string
	unit     string
	// for operators: + - * / and 'f' for "of"; spaced tells that blanks surround it
	op     byte
	spaced bool
	// exact is false for "≈" and "about".
	exact bool
}

var (
	lexeme = regexp.MustCompile(`(?i)\d{4}-\d{2}-\d{2}|v?\d+(?:\.\d+){2,}` + // dates and versions are no numbers
		`|\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?` +
		`|[\p{L}][\p{L}\p{N}_]*` +
		`|[-+*/×·÷−–=≈~()%$€£¥₹]|[^\s]`)
	scaleWords = map[string]int64{"thousand": 1_000, "million": 1_000_000, "billion": 1_000_000_000, "k": 1_000, "m": 1_000_000, "bn": 1_000_000_000}
	operators  = map[string]byte{
		"+": '+', "plus": '+', "-": '-', "−": '-', "–": '-', "minus": '-', "*": '*', "×": '*', "·": '*', "times": '*', "x": '*',
		"/": '/', "÷": '/', "of": 'f',
	}
	relations = map[string]bool{"=": true, "equals": true, "is": true, "are": true, "makes": true, "gives": true, "≈": false, "~": false}
	isYear    = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}$`)
	versions  = regexp.MustCompile(`^[vV]?\d+(?:\.\d+){2,}$`)
)

// Bounds of arithmetic in prose; longer numbers and expressions are left alone.
const (
	maxDigits    = 60
	maxOperators = 24
)

// tokens reads a text.
func tokens(text string) []token {
	var out []token
	spans := lexeme.FindAllStringIndex(text, -1)
	for i := 0; i < len(spans); i++ {
		s := spans[i]
		raw := text[s[0]:s[1]]
		t := token{text: raw, start: s[0], end: s[1], kind: 'w'}
		lower := strings.ToLower(raw)
		switch op, isOp := operators[lower]; {
		case raw == "(" || raw == ")":
			t.kind = raw[0]
		case isYear.MatchString(raw) || versions.MatchString(raw):
		case raw[0] >= '0' && raw[0] <= '9':
			t.number(text, spans, &i)
			if n := len(out); n > 0 && out[n-1].kind == 'w' && len(currencies[out[n-1].text]) > 0 {
				t.currency, t.start = currencies[out[n-1].text], out[n-1].start
				out = out[:n-1]
			}
		case isOp:
			t.kind, t.op = 'o', op
			t.spaced = (s[0] > 0 && text[s[0]-1] == ' ') && (s[1] < len(text) && text[s[1]] == ' ')
			if raw == "x" || raw == "X" {
				// "3 x 4" multiplies; a lone x is a letter
				if len(out) == 0 || out[len(out)-1].kind != 'n' {
					t.kind = 'w'
				}
			}
		case lower == "divided" || lower == "multiplied":
			if i+1 < len(spans) && strings.EqualFold(text[spans[i+1][0]:spans[i+1][1]], "by") {
				i++
				t.kind, t.end, t.spaced = 'o', spans[i][1], true
				t.op = map[bool]byte{true: '/', false: '*'}[lower == "divided"]
			}
		default:
			if exact, ok := relations[lower]; ok {
				t.kind, t.exact = 'r', exact
			}
		}
		out = append(out, t)
	}
	return out
}

var currencies = map[string]string{
	"$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY", "₹": "INR", "USD": "USD", "EUR": "EUR", "GBP": "GBP", "JPY": "JPY", "INR": "INR", "CHF": "CHF",
}

// isUnit tells the words that may stand between a number and an operator; any
// other word ends the arithmetic.
func isUnit(w string) bool {
	switch strings.ToLower(w) {
	case "ms", "s", "sec", "seconds", "min", "minutes", "h", "hours", "hour", "days", "day", "weeks", "months", "years",
		"mm", "cm", "m", "km", "g", "kg", "t", "l", "ml", "kb", "mb", "gb", "tb", "kib", "mib", "gib", "tib", "bytes",
		"euro", "euros", "dollars", "pounds", "eur", "usd", "gbp", "jpy", "inr", "chf", "points", "requests", "items", "units", "people", "tasks":
		return true
	}
	return false
}

// number reads a number with its scale, percent sign or unit; i moves on to the
// last lexeme taken.
func (t *token) number(text string, spans [][]int, i *int) {
	digits := strings.ReplaceAll(t.text, ",", "")
	v, ok := new(big.Rat).SetString(digits)
	if !ok || len(digits) > maxDigits {
		return
	}
	t.kind, t.value, t.scale = 'n', v, big.NewRat(1, 1)
	if _, frac, dot := strings.Cut(digits, "."); dot {
		t.decimals = len(frac)
	}
	peek := func() string {
		if *i+1 >= len(spans) {
			return ""
		}
		return text[spans[*i+1][0]:spans[*i+1][1]]
	}
	adjacent := func() bool { return spans[*i+1][0] == t.end }
	take := func() {
		*i++
		t.end = spans[*i][1]
	}
	if w := peek(); w != "" {
		k, isScale := scaleWords[strings.ToLower(w)]
		if isScale && (len(w) > 2 || adjacent()) && !(adjacent() && isUnit(w)) {
			t.scale = big.NewRat(k, 1)
			t.value = new(big.Rat).Mul(v, t.scale)
			take()
		}
	}
	switch w := peek(); {
	case w == "%" || strings.EqualFold(w, "percent"):
		t.percent = true
		take()
	case len(currencies[w]) > 0 && t.currency == "":
		t.currency = currencies[w]
		take()
	case isUnit(w):
		t.unit = strings.ToLower(w)
		take()
	}
}
