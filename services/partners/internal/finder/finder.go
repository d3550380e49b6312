// Package finder is the skill by which plans find partners.
package finder

import (
	"context"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/fault"
	"sabha.dev/services/partners/internal/partner"
	"sabha.dev/services/partners/internal/registry"
)

// Skill is its id.
const Skill = "find-partners"

// maxFound bounds an answer.
const maxFound = 50

// Registry is what is searched.
type Registry interface {
	Search(ctx context.Context, f registry.Filter) ([]*registry.Record, error)
}

// New makes the skill. It finds approved partners that plans may call.
func New(r Registry) agent.Skill {
	return agent.Skill{
		ID: Skill, Name: "Find partners", Internal: true,
		Description: "Finds agents of other organisations that plans may call. Data part {capability?, organisation?, query?, tags?, online_only?, min_trust?}; " +
			"what is absent does not narrow. Answers {partners: [{id, name, organisation, description, tags, online, trust, skills: [{address, name, description}]}]}, the most trusted first, at most 50.",
		Tags: []string{"partners"}, Examples: []string{`{"capability": "underwrite", "online_only": true, "min_trust": 0.8}`},
		Answer: func(ctx context.Context, req *agent.Request) (*a2apb.Message, error) { return find(ctx, r, req) },
	}
}

type question struct {
	Capability   string   `json:"capability"`
	Organisation string   `json:"organisation"`
	Query        string   `json:"query"`
	Tags         []string `json:"tags"`
	OnlineOnly   bool     `json:"online_only"`
	MinTrust     float64  `json:"min_trust"`
}

type found struct {
	ID           string   `json:"id"`
	Name         string   `json:"name"`
	Organisation string   `json:"organisation"`
	Description  string   `json:"description"`
	Tags         []string `json:"tags"`
	Online       bool     `json:"online"`
	Trust        float64  `json:"trust"`
	Skills       []skill  `json:"skills"`
}

type skill struct {
	Address     string `json:"address"`
	Name        string `json:"name"`
	Description string `json:"description"`
}

func find(ctx context.Context, r Registry, req *agent.Request) (*a2apb.Message, error) {
	var q question
	data, err := agent.Decode(req.Message.GetParts(), &q)
	if err != nil {
		return nil, err
	}
	if !data {
		q.Query = agent.TextOf(req.Message.GetParts())
	}
	f := registry.Filter{
		Capability: q.Capability, Organisation: q.Organisation, Query: q.Query, Tags: q.Tags, OnlineOnly: q.OnlineOnly, MinTrust: q.MinTrust,
		States: []partner.State{partner.Approved}, Callable: true, Limit: maxFound,
	}
	if err := f.Check(); err != nil {
		return nil, err
	}
	records, err := r.Search(ctx, f)
	if err != nil {
		return nil, err
	}
	all := []found{}
	for _, p := range records {
		one := found{
			ID: p.ID, Name: p.Name, Organisation: p.Organisation, Description: p.Description, Tags: append([]string{}, p.Tags...),
			Online: p.Online, Trust: p.Trust, Skills: []skill{},
		}
		for _, s := range p.Skills {
			one.Skills = append(one.Skills, skill{partner.Address{Partner: p.ID, Skill: s.ID}.String(), s.Name, s.Description})
		}
		all = append(all, one)
	}
	part, err := agent.Data(map[string]any{"partners": all})
	if err != nil {
		return nil, fault.New(fault.Unavailable, "what was found cannot be told").Because(err)
	}
	return agent.Message(part), nil
}
