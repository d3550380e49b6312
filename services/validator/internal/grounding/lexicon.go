package grounding

import "strings"

func wordSet(list string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(list) {
		set[w] = true
	}
	return set
}

// stopwords carry no meaning of their own for the comparison.
var stopwords = wordSet(`a an the this that these those it its itself they them their theirs he him his she her hers we us our you your i me my
	is are was were be been being am do does did done doing have has had having will would shall should can could may might must
	and or but if then else so as of at by for from in into on onto to with about over under between through during upon via per within
	there here which who whom whose what when where why how also too very just only such than both each every any all some same own
	not no nor never neither none nothing nobody cannot n't without yes s t re ve ll d m
	i.e e.g a.m p.m etc half according therefore thus hence however moreover furthermore additionally still already currently
	stated states says said mentions mentioned give gives gave given giving get gets got made make makes up out one ones etc while whereas because although
	about approximately around roughly nearly almost exactly least most more less fewer much many lot`)

// synonymGroups are words that stand for one concept. The first names it.
var synonymGroups = []string{
	"begin start commence launch initiate kickoff",
	"end finish conclude terminate stop halt cease",
	"buy purchase acquire",
	"cost price charge",
	"show display present",
	"use utilize utilise employ",
	"need require necessitate",
	"allow permit enable authorise authorize let",
	"forbid prohibit ban disallow",
	"increase rise grow climb raise gain",
	"decrease fall drop declined reduce shrink lower",
	"large big huge",
	"small little tiny",
	"fast quick rapid swift speedy",
	"error fault failure",
	"delete remove erase",
	"create generate produce make build",
	"store save persist keep retain",
	"send transmit deliver dispatch",
	"receive obtain get",
	"choose select pick",
	"change modify alter amend edit",
	"check verify validate examine inspect",
	"repair fix mend",
	"staff employee worker personnel",
	"firm company business enterprise",
	"customer client",
	"car vehicle automobile",
	"doctor physician",
	"house home dwelling",
	"lead head manage",
	"found establish",
	"locate situate base",
	"contain include comprise hold",
	"assist help aid support",
	"answer reply respond response",
	"ask request inquire",
	"maximum max limit cap",
	"minimum min",
	"annual yearly",
	"mandatory compulsory obligatory required",
	"optional voluntary",
	"write author compose",
	"live reside",
	"earn receive",
	"pay remunerate settle",
	"job position",
	"default preset",
	"again anew retry",
	"restart reboot",
	"replica copy instance",
	"expire lapse",
	"appoint name designate",
	"approve accept endorse",
	"die perish decease",
	"film movie",
	"happen occur",
	"cancel abort revoke",
	"document doc file",
	"database db",
	"configuration config setting",
	"documentation docs manual",
	"notify inform alert tell",
	"deadline due",
	"repay reimburse refund",
	"hire recruit employ",
	"open inaugurate",
	"child kid",
	"holiday vacation",
}

// flipped words are the negation of another word: "forbidden" is "not allowed".
var flipped = map[string]string{
	"forbid": "allow", "forbids": "allow", "forbidden": "allow", "forbade": "allow", "prohibit": "allow", "prohibits": "allow", "prohibited": "allow",
	"disallow": "allow", "disallows": "allow", "disallowed": "allow", "banned": "allow", "bans": "allow",
	"disable": "enable", "disables": "enable", "disabled": "enable", "unavailable": "available", "unable": "able", "impossible": "possible",
	"invalid": "valid", "incorrect": "correct", "inaccurate": "accurate", "unsafe": "safe", "insecure": "secure", "unsupported": "support",
	"unsigned": "signed", "unencrypted": "encrypted", "untrusted": "trusted", "incomplete": "complete", "ineligible": "eligible", "unlimited": "limited",
	"inactive": "active", "unlikely": "likely", "unnecessary": "necessary", "false": "true", "illegal": "legal", "unauthorised": "authorised",
	"unauthorized": "authorized", "nonrefundable": "refundable", "unpaid": "paid", "unknown": "known", "unchanged": "changed", "unverified": "verified",
	"refuse": "accept", "refuses": "accept", "refused": "accept", "reject": "accept", "rejects": "accept", "rejected": "accept",
	"decline": "accept", "declines": "accept", "deny": "accept", "denies": "accept", "denied": "accept",
}

// opposites are sets of words of which a statement can mean one at a time.
var opposites = []string{
	"increase decrease",
	"before after",
	"above below",
	"maximum minimum",
	"first second last",
	"open close",
	"begin end",
	"always sometimes rarely",
	"synchronous asynchronous",
	"public private",
	"internal external",
	"inbound outbound",
	"incoming outgoing",
	"upper lower",
	"ascending descending",
	"buy sell",
	"win lose",
	"north south east west northern southern eastern western",
	"monday tuesday wednesday thursday friday saturday sunday",
	"mandatory optional",
	"success failure",
	"primary secondary",
	"left right",
	"high low",
	"hourly daily weekly monthly quarterly annual",
	"short long",
	"cheap expensive",
	"old new",
	"red green blue yellow orange purple black white",
	"encrypt decrypt",
	"gas liquid solid",
	"summer winter spring autumn",
	"morning afternoon evening night",
	"male female",
	"import export",
	"lend borrow",
	"gain loss",
	"fixed variable",
	"horizontal vertical",
	"ancient modern",
	"plural singular",
	"reader writer",
	"oldest newest",
	"highest lowest",
	"largest smallest",
	"fast slow",
}

// irregular forms meet their root here, before endings are taken off.
var irregular = map[string]string{
	"began": "begin", "begun": "begin", "bought": "buy", "sold": "sell", "sent": "send", "kept": "keep", "held": "hold", "led": "lead",
	"wrote": "write", "written": "write", "rose": "rise", "risen": "rise", "grew": "grow", "grown": "grow", "fell": "fall", "fallen": "fall",
	"lost": "lose", "won": "win", "paid": "pay", "built": "build", "chosen": "choose", "chose": "choose", "took": "take", "taken": "take",
	"ran": "run", "lent": "lend", "shown": "show", "known": "know", "knew": "know", "children": "child", "people": "person", "men": "man",
	"women": "woman", "indices": "index", "data": "data", "lay": "lie", "spent": "spend", "left": "left", "born": "bear", "met": "meet",
	"forbidden": "forbid", "forbade": "forbid", "told": "tell", "found": "find", "founded": "found", "founder": "found", "founds": "found",
	"thought": "think", "taught": "teach", "came": "come", "went": "go", "gone": "go", "gave": "give", "broke": "break", "broken": "break",
	"drawn": "draw", "drew": "draw", "driven": "drive", "hidden": "hide", "sought": "seek", "stood": "stand", "understood": "understand",
}

// lexicon answers which concept a stem belongs to.
type lexicon struct {
	concepts map[string]string
	exclude  map[string]int
}

var english = newLexicon()

func newLexicon() lexicon {
	l := lexicon{concepts: map[string]string{}, exclude: map[string]int{}}
	for _, g := range synonymGroups {
		words := strings.Fields(g)
		for _, w := range words {
			if _, taken := l.concepts[stem(w)]; !taken {
				l.concepts[stem(w)] = stem(words[0])
			}
		}
	}
	for i, g := range opposites {
		for _, w := range strings.Fields(g) {
			c := l.concept(w)
			if _, taken := l.exclude[c]; !taken {
				l.exclude[c] = i + 1
			}
		}
	}
	return l
}

func (l lexicon) concept(word string) string {
	if root, ok := flipped[word]; ok {
		word = root
	}
	if root, ok := irregular[word]; ok {
		word = root
	}
	s := stem(word)
	if c, ok := l.concepts[s]; ok {
		return c
	}
	return s
}

func concept(word string) string { return english.concept(word) }

// opposed tells whether two concepts exclude each other.
func opposed(a, b string) bool {
	return a != b && english.exclude[a] != 0 && english.exclude[a] == english.exclude[b]
}
