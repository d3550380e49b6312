package playbook

import (
	"fmt"
	"slices"
	"strings"

	"sabha.dev/chassis/strictyaml"
)

// Request is what a playbook is matched against.
type Request struct {
	Text  string
	Skill string // the skill the request names; may be empty
	Data  map[string]any
}

// Takes reports whether the playbook's matcher takes a request. A condition that fails on this
// request does not take it; the error says why.
func (p *Playbook) Takes(req Request) (bool, error) {
	m := p.Match
	if len(m.Skills) == 0 && m.When == nil {
		return false, nil
	}
	if len(m.Skills) > 0 && !slices.Contains(m.Skills, req.Skill) {
		return false, nil
	}
	data := req.Data
	if data == nil {
		data = map[string]any{}
	}
	return m.When.test(map[string]any{"request": map[string]any{"text": req.Text, "skill": req.Skill, "data": data}})
}

// Library holds playbooks by name and version. It is immutable.
type Library struct {
	byName map[string][]*Playbook // newest version first
}

// NewLibrary collects playbooks. Two of the same name and version are an error.
func NewLibrary(books ...*Playbook) (*Library, error) {
	l := &Library{byName: map[string][]*Playbook{}}
	for _, b := range books {
		for _, other := range l.byName[b.Name] {
			if other.Version.Compare(b.Version) == 0 {
				return nil, fmt.Errorf("%s: playbook %q version %s is in %s too; give one of them another name or version", b.File, b.Name, b.Version, other.File)
			}
		}
		l.byName[b.Name] = append(l.byName[b.Name], b)
	}
	for _, versions := range l.byName {
		slices.SortFunc(versions, func(a, b *Playbook) int { return b.Version.Compare(a.Version) })
	}
	return l, nil
}

// Names returns the names of the playbooks, sorted.
func (l *Library) Names() []string { return sortedKeys(l.byName) }

// Latest returns the newest version of a playbook.
func (l *Library) Latest(name string) (*Playbook, bool) {
	versions := l.byName[name]
	if len(versions) == 0 {
		return nil, false
	}
	return versions[0], true
}

// Version returns one version of a playbook: a plan keeps the version it began with.
func (l *Library) Version(name string, version Version) (*Playbook, bool) {
	for _, b := range l.byName[name] {
		if b.Version == version {
			return b, true
		}
	}
	return nil, false
}

// Find returns the playbook a request names: "name" for the newest version, "name@version" for one.
// The error says what there is.
func (l *Library) Find(ref string) (*Playbook, error) {
	name, version, pinned := strings.Cut(ref, "@")
	latest, ok := l.Latest(name)
	if !ok {
		return nil, fmt.Errorf("unknown playbook %q%s; known playbooks: %s", strictyaml.Clip(name), strictyaml.DidYouMean(name, l.Names()), listOr(l.Names(), "none"))
	}
	if !pinned {
		return latest, nil
	}
	if b, ok := l.Version(name, Version(version)); ok {
		return b, nil
	}
	var known []string
	for _, b := range l.byName[name] {
		known = append(known, string(b.Version))
	}
	return nil, fmt.Errorf("playbook %q has no version %q; its versions: %s", name, strictyaml.Clip(version), strings.Join(known, ", "))
}

// Match returns the playbook whose matcher takes the request: of the newest versions the one with
// the highest priority, then the first by name. Nil when none does. Problems are conditions that
// failed on this request; their playbooks were passed over.
func (l *Library) Match(req Request) (match *Playbook, problems []error) {
	for _, name := range l.Names() {
		b := l.byName[name][0]
		yes, err := b.Takes(req)
		if err != nil {
			problems = append(problems, err)
		}
		if yes && (match == nil || b.Match.Priority > match.Match.Priority) {
			match = b
		}
	}
	return match, problems
}
