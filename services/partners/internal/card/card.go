// Package card reads the cards of other organisations' agents: those of A2A 1.0 and 0.3,
// and of KAP 1.0. It refuses what two readers could read differently, and what does not
// hold together: a card says who somebody is, and anybody can publish one.
package card

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"sabha.dev/chassis/cardsig"
	"sabha.dev/chassis/fault"
	"sabha.dev/services/partners/internal/partner"
)

// Bounds of a card.
const (
	// MaxSize of the JSON, bytes.
	MaxSize   = 256 << 10
	maxName   = 200 // bytes
	maxText   = 8 << 10
	maxSkills = 200
	maxTags   = 100
	maxFaces  = 20
	maxDepth  = 64
)

// Card is what is read of one.
type Card struct {
	Protocol                                 partner.Protocol
	Organisation, Name, Description, Version string
	Tags                                     []string
	Skills                                   []partner.Skill
	// Provider is the URL of the organisation, as the card claims; empty for none.
	Provider   string
	Interfaces []Interface
	// Signed says that it has signatures.
	Signed bool
	// Digest is the SHA-256 of the JSON, hex.
	Digest string
	Raw    []byte
}

// Interface is one way to the agent.
type Interface struct {
	URL string
	// Binding is that of A2A: JSONRPC, HTTP+JSON or GRPC; KAP for that protocol.
	Binding string
	// Version of the protocol, as the card says it.
	Version string
}

// Refused says why a card cannot be taken. Its text may be shown to whoever named it.
func refuse(format string, args ...any) error {
	return fault.New(fault.CardRefused, "the card cannot be taken: "+format, args...)
}

// Parse reads a card. The error has the reason CARD_REFUSED.
func Parse(raw []byte) (*Card, error) {
	if len(raw) > MaxSize {
		return nil, refuse("it has more than %d bytes", MaxSize)
	}
	if _, err := cardsig.Canonical(raw); err != nil {
		return nil, refuse("%v", err)
	}
	tree := members{}
	if err := json.Unmarshal(raw, &tree); err != nil {
		return nil, refuse("it is not JSON")
	}
	if err := plain("", map[string]any(tree)); err != nil {
		return nil, err
	}
	r := &reader{}
	c := r.read(tree)
	if r.err != nil {
		return nil, r.err
	}
	sum := sha256.Sum256(raw)
	c.Digest, c.Raw = hex.EncodeToString(sum[:]), raw
	return c, c.check()
}

// plain refuses what readers of JSON disagree about beyond its grammar: two members whose
// names differ in the case of letters only, and the character U+0000.
func plain(at string, v any) error {
	switch v := v.(type) {
	case map[string]any:
		seen := map[string]bool{}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if folded := strings.ToLower(name); seen[folded] {
				return refuse("two members of %s are called %q but for the case of letters", place(at), clip(name))
			} else {
				seen[folded] = true
			}
			if strings.ContainsRune(name, 0) {
				return refuse("a name in %s holds the character U+0000", place(at))
			}
			if err := plain(at+"/"+name, v[name]); err != nil {
				return err
			}
		}
	case []any:
		for i, e := range v {
			if err := plain(fmt.Sprintf("%s/%d", at, i), e); err != nil {
				return err
			}
		}
	case string:
		if strings.ContainsRune(v, 0) {
			return refuse("%s holds the character U+0000", place(at))
		}
	}
	return nil
}

func place(at string) string {
	if at == "" {
		return "the card"
	}
	return clip(at)
}

func clip(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	n := most
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

// check looks at what all forms have.
func (c *Card) check() error {
	switch {
	case strings.TrimSpace(c.Name) == "":
		return refuse("it gives no name")
	case len(c.Skills) == 0 && c.Protocol == partner.KAP1:
		return refuse("it lists no capabilities")
	case len(c.Skills) == 0:
		return refuse("it lists no skills")
	case len(c.Skills) > maxSkills:
		return refuse("it lists more than %d skills", maxSkills)
	case len(c.Interfaces) > maxFaces:
		return refuse("it lists more than %d interfaces", maxFaces)
	case len(c.Tags) > maxTags:
		return refuse("it has more than %d tags", maxTags)
	}
	for _, t := range []struct{ what, text string }{{"name", c.Name}, {"organisation", c.Organisation}, {"version", c.Version}} {
		if len(t.text) > maxName {
			return refuse("its %s has more than %d bytes", t.what, maxName)
		}
	}
	if len(c.Description) > maxText {
		return refuse("its description has more than %d bytes", maxText)
	}
	seen := map[string]bool{}
	for _, s := range c.Skills {
		switch {
		case s.ID == "" || len(s.ID) > maxName || strings.ContainsFunc(s.ID, func(r rune) bool { return r <= ' ' || r == 0x7f }):
			return refuse("a skill has the id %q; an id has 1 to %d bytes without spaces", clip(s.ID), maxName)
		case seen[s.ID]:
			return refuse("two skills have the id %q", clip(s.ID))
		case len(s.Name) > maxName || len(s.Description) > maxText || len(s.Tags) > maxTags:
			return refuse("the texts of the skill %q are too long", clip(s.ID))
		}
		seen[s.ID] = true
	}
	return nil
}
