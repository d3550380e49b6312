package policy

import (
	"slices"
	"strings"

	"sabha.dev/chassis/strictyaml"

	"sabha.dev/services/review/internal/item"
)

var (
	kindNames = []string{"result", "action", "confirmation"}
	riskNames = []string{"low", "medium", "high"}
)

// rule leads items to a queue. A condition that is empty holds for all; product and
// organisation are patterns in which * stands for any text.
type rule struct {
	line                                 int
	kinds, risks, products, organisation []string
	queue                                *Queue
}

func (c *compiler) rules(n strictyaml.Node) {
	for _, i := range n.Items() {
		f, ok := i.Fields("kind", "product", "risk", "organisation", "queue")
		if !ok {
			continue
		}
		r := rule{
			line: i.Line(), kinds: words(f, "kind", kindNames), risks: words(f, "risk", riskNames),
			products: words(f, "product", nil), organisation: words(f, "organisation", nil),
		}
		if q, ok := f.Need("queue"); ok {
			r.queue = c.named(q)
		}
		switch first, same := c.hidden(r); {
		case len(r.kinds)+len(r.risks)+len(r.products)+len(r.organisation) == 0:
			i.Problem("holds for every item; name the queue as default instead")
		case same && first.queue == r.queue:
			i.Problem("says the same as the rule on line %d; remove one of them", first.line)
		case same:
			i.Problem("conflicts with the rule on line %d, which leads the same items to another queue", first.line)
		case first != nil:
			i.Problem("is never reached: the rules before it take all its items, the last of them on line %d", first.line)
		}
		c.policy.rules = append(c.policy.rules, r)
	}
}

// words reads a condition: one word or a list. known words are checked, others are
// patterns.
func words(f strictyaml.Fields, key string, known []string) []string {
	n, ok := f.Get(key)
	if !ok {
		return nil
	}
	nodes := []strictyaml.Node{n}
	if n.IsList() {
		if nodes = n.Items(); len(nodes) == 0 {
			n.Problem("is empty; name something or remove the key")
		}
	}
	var list []string
	for _, w := range nodes {
		text := ""
		if known == nil {
			text = w.Text()
		} else {
			text = w.OneOf(known...)
		}
		if slices.Contains(list, text) && text != "" {
			w.Problem("%q is there twice", strictyaml.Clip(text))
		}
		list = append(list, text)
	}
	return list
}

// hidden tells by which earlier rules all items of a rule are taken: the last of
// them, and whether it has the very same conditions. nil: there are items left.
func (c *compiler) hidden(r rule) (last *rule, same bool) {
	for i := range c.policy.rules {
		if e := &c.policy.rules[i]; slices.Equal(sorted(e.kinds), sorted(r.kinds)) && slices.Equal(sorted(e.risks), sorted(r.risks)) &&
			slices.Equal(sorted(e.products), sorted(r.products)) && slices.Equal(sorted(e.organisation), sorted(r.organisation)) {
			return e, true
		}
	}
	for _, kind := range orAll(r.kinds, kindNames) {
		for _, risk := range orAll(r.risks, append(riskNames, "")) {
			for _, product := range orAll(r.products, []string{"*"}) {
				for _, organisation := range orAll(r.organisation, []string{"*"}) {
					taker := c.taker(kind, risk, product, organisation)
					if taker == nil {
						return nil, false
					}
					if last == nil || taker.line > last.line {
						last = taker
					}
				}
			}
		}
	}
	return last, false
}

// taker finds an earlier rule that takes every item of a kind and risk whose product
// and organisation match the patterns.
func (c *compiler) taker(kind, risk, product, organisation string) *rule {
	for i := range c.policy.rules {
		e := &c.policy.rules[i]
		if (len(e.kinds) == 0 || slices.Contains(e.kinds, kind)) && (len(e.risks) == 0 || slices.Contains(e.risks, risk)) &&
			matches(e.products, product) && matches(e.organisation, organisation) {
			return e
		}
	}
	return nil
}

func sorted(list []string) []string { return slices.Sorted(slices.Values(list)) }

func orAll(list, all []string) []string {
	if len(list) == 0 {
		return all
	}
	return list
}

// takes tells whether a rule leads a subject to its queue.
func (r *rule) takes(s item.Subject) bool {
	organisation, _, _ := strings.Cut(s.Requester, "/")
	return (len(r.kinds) == 0 || slices.ContainsFunc(r.kinds, func(k string) bool { return item.Kinds[k] == s.Kind })) &&
		(len(r.risks) == 0 || slices.Contains(r.risks, s.Risk)) && matches(r.products, s.Product) && matches(r.organisation, organisation)
}

func matches(patterns []string, text string) bool {
	return len(patterns) == 0 || slices.ContainsFunc(patterns, func(p string) bool { return match(p, text) })
}

// match tells whether a pattern, in which * stands for any text, is a text. A text
// with * is a pattern itself: what it stands for is then all matched.
func match(pattern, text string) bool {
	first, rest, star := strings.Cut(pattern, "*")
	if !star {
		return pattern == text
	}
	if !strings.HasPrefix(text, first) {
		return false
	}
	text = text[len(first):]
	for {
		piece, after, more := strings.Cut(rest, "*")
		if !more {
			return strings.HasSuffix(text, piece)
		}
		at := strings.Index(text, piece)
		if at < 0 {
			return false
		}
		text, rest = text[at+len(piece):], after
	}
}
