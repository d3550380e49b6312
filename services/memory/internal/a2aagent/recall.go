package a2aagent

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/label"
	"sabha.dev/services/memory/internal/memory"
)

type recallRequest struct {
	Query string   `json:"query"`
	Limit *float64 `json:"limit"`
	Kind  string   `json:"kind"`
}

type recalled struct {
	ID         string          `json:"id"`
	Text       string          `json:"text"`
	Kind       memory.Kind     `json:"kind"`
	CreatedAt  string          `json:"created_at"`
	Score      float64         `json:"score"`
	Tags       []string        `json:"tags,omitempty"`
	Labels     *label.Labels   `json:"labels,omitempty"`
	Scope      string          `json:"scope,omitempty"`
	Fact       *memory.Fact    `json:"fact,omitempty"`
	Supersedes []memory.Fact   `json:"supersedes,omitempty"`
	Episode    *memory.Episode `json:"episode,omitempty"`
	Told       int             `json:"told,omitempty"`
}

const defaultLimit = 5

const stamp = "2006-01-02T15:04:05.000000Z"

func (p persona) recall(ctx context.Context, req *agent.Request) (*a2apb.Message, error) {
	key, err := owner(req)
	if err != nil {
		return nil, err
	}
	parts := req.Message.GetParts()
	var in recallRequest
	found, err := agent.Decode(parts, &in)
	if err != nil {
		return nil, err
	}
	_, prefix := fields(parts)
	if !found {
		in.Query = agent.TextOf(parts)
	}
	kind, err := readKind(in.Kind, prefix)
	if err == nil {
		err = storable("message.contextId", req.Message.GetContextId())
	}
	if err != nil {
		return nil, err
	}
	limit := defaultLimit
	if in.Limit != nil {
		if !(*in.Limit >= 1 && *in.Limit <= memory.MaxLimit) || *in.Limit != math.Trunc(*in.Limit) {
			return nil, fault.Invalid(prefix+".limit", "must be a whole number from 1 to %d", memory.MaxLimit)
		}
		limit = int(*in.Limit)
	}
	owners := []string{key}
	if req.Principal.Organisation != "" {
		owners = append(owners, shared(req))
	}
	hits, err := p.keeper.Recall(ctx, owners, req.Message.GetContextId(), in.Query, kind, limit)
	if err != nil {
		return nil, err
	}
	list := make([]recalled, 0, len(hits))
	joined := trusted // that nothing is remembered is our own word
	for _, h := range hits {
		item := recalled{
			ID: h.ID, Text: h.Text, Kind: h.Kind, Score: math.Round(h.Score*1e4) / 1e4, Tags: h.Tags, CreatedAt: h.CreatedAt.Format(stamp),
			Fact: h.Fact, Episode: h.Episode,
		}
		if h.Owner != key {
			item.Scope = organisation
		}
		if len(h.Told) > 1 {
			item.Told = len(h.Told)
		}
		if !h.Labels.IsZero() {
			item.Labels = &h.Labels
		}
		joined = label.Join(joined, believed(h.Labels))
		for _, o := range h.Supersedes {
			item.Supersedes = append(item.Supersedes, *o.Fact)
			joined = label.Join(joined, believed(o.Labels))
		}
		list = append(list, item)
	}
	return answer(map[string]any{"memories": list}, joined)
}

// believed are labels of a memory as they leave: what nobody has said may be believed is not.
func believed(l label.Labels) label.Labels {
	if l.Integrity == "" {
		l.Integrity = label.Untrusted
	}
	return l
}

type exported struct {
	recalled
	Context      string           `json:"context,omitempty"`
	ExpiresAt    string           `json:"expires_at,omitempty"`
	SupersededBy string           `json:"superseded_by,omitempty"`
	Tellings     []memory.Telling `json:"tellings"`
}

func (p persona) export(ctx context.Context, req *agent.Request) (*a2apb.Message, error) {
	key, err := owner(req)
	if err != nil {
		return nil, err
	}
	all, err := p.keeper.Export(ctx, key)
	if err != nil {
		return nil, err
	}
	list := make([]exported, 0, len(all))
	joined := trusted
	for _, m := range all {
		item := exported{
			recalled: recalled{ID: m.ID, Text: m.Text, Kind: m.Kind, Tags: m.Tags, CreatedAt: m.CreatedAt.Format(stamp), Fact: m.Fact, Episode: m.Episode},
			Context:  m.Context, SupersededBy: m.SupersededBy, Tellings: append([]memory.Telling{}, m.Told...),
		}
		if !m.ExpiresAt.IsZero() {
			item.ExpiresAt = m.ExpiresAt.Format(time.RFC3339)
		}
		if !m.Labels.IsZero() {
			item.Labels = &m.Labels
		}
		joined = label.Join(joined, believed(m.Labels))
		list = append(list, item)
	}
	return answer(map[string]any{"memories": list}, joined)
}

func readKind(kind, prefix string) (memory.Kind, error) {
	if k := memory.Kind(kind); k == "" || slices.Contains(memory.Kinds(), k) {
		return k, nil
	}
	return "", fault.Invalid(prefix+".kind", "is %q; it must be context, long_term, fact or episode", clip(kind))
}
