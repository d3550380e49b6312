package card

import (
	"encoding/json"
	"strings"

	"sabha.dev/services/partners/internal/partner"
)

// members of a JSON object by their exact names: a decoder into structs of Go would take
// names that differ in case.
type members map[string]any

// reader reads members and keeps the first thing that is wrong.
type reader struct{ err error }

func (r *reader) wrong(at, want string) {
	if r.err == nil {
		r.err = refuse("%s is not %s", place(at), want)
	}
}

func (r *reader) text(m members, at, name string) string {
	v, ok := m[name]
	if !ok || v == nil {
		return ""
	}
	s, ok := v.(string)
	if !ok {
		r.wrong(at+"/"+name, "text")
	}
	return s
}

func (r *reader) object(m members, at, name string) members {
	v, ok := m[name]
	if !ok || v == nil {
		return nil
	}
	o, ok := v.(map[string]any)
	if !ok {
		r.wrong(at+"/"+name, "an object")
	}
	return o
}

func (r *reader) list(m members, at, name string) []any {
	v, ok := m[name]
	if !ok || v == nil {
		return nil
	}
	l, ok := v.([]any)
	if !ok {
		r.wrong(at+"/"+name, "a list")
	}
	return l
}

func (r *reader) objects(m members, at, name string) []members {
	var all []members
	for _, e := range r.list(m, at, name) {
		o, ok := e.(map[string]any)
		if !ok {
			r.wrong(at+"/"+name, "a list of objects")
			return nil
		}
		all = append(all, o)
	}
	return all
}

func (r *reader) texts(m members, at, name string) []string {
	var all []string
	for _, e := range r.list(m, at, name) {
		s, ok := e.(string)
		if !ok {
			r.wrong(at+"/"+name, "a list of texts")
			return nil
		}
		if len(s) <= maxName {
			all = append(all, s)
		}
	}
	return all
}

// read tells the form of a card and reads it.
func (r *reader) read(m members) *Card {
	switch {
	case m["protocol"] != nil:
		return r.kap(m)
	case m["supportedInterfaces"] != nil:
		return r.current(m)
	case m["url"] != nil || m["protocolVersion"] != nil:
		return r.old(m)
	}
	if r.err == nil {
		r.err = refuse("it has the form of none of A2A 1.0 (supportedInterfaces), A2A 0.3 (url and protocolVersion) and KAP 1.0 (protocol)")
	}
	return nil
}

func (r *reader) kap(m members) *Card {
	if p := r.text(m, "", "protocol"); p != string(partner.KAP1) {
		r.err = refuse("it is of the protocol %q; kap/1.0 is the one that is spoken here", clip(p))
		return nil
	}
	a := r.object(m, "", "agent")
	c := &Card{
		Protocol: partner.KAP1, Name: r.text(a, "/agent", "name"), Description: r.text(a, "/agent", "description"), Version: r.text(a, "/agent", "version"),
		Organisation: r.text(a, "/agent", "organization"), Tags: r.texts(a, "/agent", "tags"), Signed: m["signatures"] != nil,
		Interfaces: []Interface{{URL: r.text(m, "", "endpoint"), Binding: "KAP", Version: "1.0"}},
	}
	if c.Name == "" {
		c.Name = r.text(a, "/agent", "id")
	}
	for _, s := range r.objects(m, "", "capabilities") {
		const at = "/capabilities"
		skill := partner.Skill{ID: r.text(s, at, "id"), Name: r.text(s, at, "name"), Description: r.text(s, at, "description")}
		if schema := r.object(s, at, "inputSchema"); schema != nil {
			skill.Input, _ = json.Marshal(schema) // it was JSON
		}
		switch v := s["requiresConfirmation"].(type) {
		case nil:
		case bool:
			skill.Confirm = v
		default:
			r.wrong(at+"/requiresConfirmation", "true or false")
		}
		c.Skills = append(c.Skills, skill)
	}
	return c
}

// common reads what both versions of A2A have.
func (r *reader) common(m members, p partner.Protocol) *Card {
	provider := r.object(m, "", "provider")
	c := &Card{
		Protocol: p, Name: r.text(m, "", "name"), Description: r.text(m, "", "description"), Version: r.text(m, "", "version"),
		Organisation: r.text(provider, "/provider", "organization"), Provider: r.text(provider, "/provider", "url"), Signed: m["signatures"] != nil,
	}
	tags := map[string]bool{}
	for _, s := range r.objects(m, "", "skills") {
		const at = "/skills"
		skill := partner.Skill{
			ID: r.text(s, at, "id"), Name: r.text(s, at, "name"), Description: r.text(s, at, "description"), Tags: r.texts(s, at, "tags"),
		}
		for _, t := range skill.Tags {
			if !tags[t] && len(c.Tags) < maxTags { // a card of A2A has those of its skills
				tags[t] = true
				c.Tags = append(c.Tags, t)
			}
		}
		c.Skills = append(c.Skills, skill)
	}
	return c
}

func (r *reader) current(m members) *Card {
	c := r.common(m, partner.A2A1)
	spoken := false
	const at = "/supportedInterfaces"
	for _, i := range r.objects(m, "", "supportedInterfaces") {
		f := Interface{URL: r.text(i, at, "url"), Binding: r.text(i, at, "protocolBinding"), Version: r.text(i, at, "protocolVersion")}
		spoken = spoken || strings.HasPrefix(f.Version, "1.")
		c.Interfaces = append(c.Interfaces, f)
	}
	if !spoken && r.err == nil {
		if m["url"] != nil { // a card for both may name its old interface only at the root
			return r.old(m)
		}
		r.err = refuse("none of its interfaces is of A2A 1.0; one of version 0.3 alone has url and protocolVersion at the root")
	}
	return c
}

func (r *reader) old(m members) *Card {
	version := r.text(m, "", "protocolVersion")
	if version != "0.3" && !strings.HasPrefix(version, "0.3.") {
		if r.err == nil {
			r.err = refuse("it is of A2A %q, which is not spoken here; 1.0 and 0.3 are", clip(version))
		}
		return nil
	}
	c := r.common(m, partner.A2A0)
	preferred := r.text(m, "", "preferredTransport")
	if preferred == "" {
		preferred = "JSONRPC" // specification 0.3, 5.6.1
	}
	c.Interfaces = []Interface{{r.text(m, "", "url"), preferred, version}}
	for _, i := range r.objects(m, "", "additionalInterfaces") {
		const at = "/additionalInterfaces"
		c.Interfaces = append(c.Interfaces, Interface{r.text(i, at, "url"), r.text(i, at, "transport"), version})
	}
	return c
}
