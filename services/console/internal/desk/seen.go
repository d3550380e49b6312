package desk

import (
	"sync"

	"google.golang.org/protobuf/types/known/structpb"

	reviewv1 "sabha.dev/gen/sabha/review/v1"
)

// maxSeen contents are remembered: those of some batches.
const maxSeen = 2000

// seen remembers contents, so that a batch that is kept up to date is not read again
// and again as a whole. Only who has just been given an item looks it up.
type seen struct {
	mu  sync.Mutex
	all map[string]content
}

type content struct {
	version int64
	value   *structpb.Value
}

func newSeen() *seen { return &seen{all: map[string]content{}} }

func (s *seen) get(i *reviewv1.Item) (*structpb.Value, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, ok := s.all[i.GetId()]
	return c.value, ok && c.version == i.GetVersion()
}

func (s *seen) put(i *reviewv1.Item, v *structpb.Value) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.all) >= maxSeen {
		clear(s.all) // they are read again when they are needed
	}
	s.all[i.GetId()] = content{i.GetVersion(), v}
}
