package agreement

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sabha.dev/chassis/strictyaml"
	"sabha.dev/services/partners/internal/partner"
)

// set is the agreements of a folder.
type set map[string]*Agreement

// of gives the terms of a skill, or nil.
func (s set) of(a partner.Address) *Terms {
	if g := s[a.Partner]; g != nil {
		return g.Terms(a.Skill)
	}
	return nil
}

// files are the agreements of a folder, *.yaml and *.yml, in order of their names.
func files(folder string) ([]string, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, fmt.Errorf("agreements: %w", err)
	}
	var list []string
	for _, e := range entries {
		if ext := filepath.Ext(e.Name()); (ext == ".yaml" || ext == ".yml") && !strings.HasPrefix(e.Name(), ".") {
			list = append(list, filepath.Join(folder, e.Name()))
		}
	}
	return list, nil
}

// read reads files that belong together. The error is strictyaml.Problems with
// everything found in all of them.
func read(names []string) (set, error) {
	all, at := set{}, map[string]places{}
	var problems strictyaml.Problems
	for _, name := range names {
		raw, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("agreements: %w", err)
		}
		a, p, err := parse(name, raw)
		if err != nil {
			found, ok := err.(strictyaml.Problems)
			if !ok {
				return nil, err
			}
			problems = append(problems, found...)
			continue
		}
		if first, twice := at[a.Partner]; twice {
			problems = append(problems, p[""].problem("there is an agreement with %s already, in %s; one file holds all that is agreed with a partner", a.Partner, first[""].file))
			continue
		}
		all[a.Partner], at[a.Partner] = a, p
	}
	if len(problems) == 0 { // who stands in for whom is only known when all is read
		problems = fallbacks(all, at)
	}
	if len(problems) > 0 {
		return nil, problems
	}
	return all, nil
}

func (p place) problem(format string, args ...any) strictyaml.Problem {
	return strictyaml.Problem{File: p.file, Line: p.line, Path: p.path, Message: fmt.Sprintf(format, args...)}
}

// fallbacks checks that who stands in for another is there, and that nobody stands in for
// somebody who stands in for him.
func fallbacks(all set, at map[string]places) (found strictyaml.Problems) {
	done := map[partner.Address]bool{}
	for _, id := range slices.Sorted(maps.Keys(all)) {
		for _, t := range all[id].Skills {
			path := []string{}
			seen := map[partner.Address]bool{}
			for t := t; t != nil && !done[t.Address]; {
				if seen[t.Address] {
					found = append(found, at[t.Address.Partner][t.Address.Skill].problem("the fallbacks go round in a circle: %s > %s", strings.Join(path, " > "), t.Address))
					break
				}
				seen[t.Address], path = true, append(path, t.Address.String())
				if t.Fallback == (partner.Address{}) {
					break
				}
				next := all.of(t.Fallback)
				if next == nil {
					found = append(found, at[t.Address.Partner][t.Address.Skill].problem("%s", missing(t.Fallback, all)))
				}
				t = next
			}
			maps.Copy(done, seen)
		}
	}
	return found
}

func missing(a partner.Address, all set) string {
	known := []string{}
	if g := all[a.Partner]; g != nil {
		for _, t := range g.Skills {
			known = append(known, t.Address.Skill)
		}
		return fmt.Sprintf("the agreement with %s does not allow the skill %q%s; it allows %s", a.Partner, strictyaml.Clip(a.Skill), strictyaml.DidYouMean(a.Skill, known), strings.Join(known, ", "))
	}
	known = slices.Sorted(maps.Keys(all))
	return fmt.Sprintf("there is no agreement with %s%s; known partners: %s", a.Partner, strictyaml.DidYouMean(a.Partner, known), strings.Join(known, ", "))
}

// Check reads a file, or all agreements of a folder, and gives them in order of the
// partners' names. A single file is checked together with the others of its folder, so
// that its fallbacks are found; problems of the others are not told.
func Check(path string) ([]*Agreement, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		names, err := files(path)
		if err != nil {
			return nil, err
		}
		all, err := read(names)
		if err != nil {
			return nil, err
		}
		return slices.SortedFunc(maps.Values(all), func(a, b *Agreement) int { return strings.Compare(a.Partner, b.Partner) }), nil
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	a, err := Parse(path, raw)
	if err != nil {
		return nil, err
	}
	names, err := files(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	if path = filepath.Clean(path); !slices.Contains(names, path) {
		names = append(names, path)
	}
	if _, err = read(names); err != nil {
		all, ok := err.(strictyaml.Problems)
		if !ok {
			return nil, err
		}
		own := slices.DeleteFunc(all, func(p strictyaml.Problem) bool { return p.File != path })
		if len(own) > 0 {
			return nil, own
		}
	}
	return []*Agreement{a}, nil
}
