package tool

import (
	"maps"
	"slices"
)

// Set is tools that are offered together, each under a name of its own.
type Set[T interface{ Called() string }] struct {
	byName map[string]T
	names  []string // sorted
}

// NewSet makes a set. Two tools of one name give *Duplicate.
func NewSet[T interface{ Called() string }](tools ...T) (*Set[T], error) {
	s := &Set[T]{byName: make(map[string]T, len(tools))}
	for _, t := range tools {
		if _, twice := s.byName[t.Called()]; twice {
			return nil, &Duplicate{Name: t.Called()}
		}
		s.byName[t.Called()] = t
	}
	s.names = slices.Sorted(maps.Keys(s.byName))
	return s, nil
}

// Called is the tool's name.
func (c *Contract) Called() string { return c.Name }

// Get finds a tool. A name that is none gives *Unknown.
func (s *Set[T]) Get(name string) (T, error) {
	t, ok := s.byName[name]
	if !ok {
		return t, &Unknown{Name: name, Known: s.names}
	}
	return t, nil
}

// All lists the tools by name.
func (s *Set[T]) All() []T {
	all := make([]T, len(s.names))
	for i, name := range s.names {
		all[i] = s.byName[name]
	}
	return all
}
