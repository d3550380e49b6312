// Package a2aagent is the review agent as an A2A agent: its skill review makes a
// person's decision a task like any other.
package a2aagent

import (
	"context"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/fault"
)

// Review is the id of the skill.
const Review = "review"

// New makes the agent.
func New(version string) agent.Agent {
	return agent.Agent{
		Tenant: "review", Name: "Review", Version: version,
		Description: "People as an agent: what needs a person waits here until one has decided.",
		Skills: []agent.Skill{{
			ID: Review, Name: "Review", Internal: true, OwnClock: true, Compensates: true,
			Description: "Lets a person decide on a result, an action or a confirmation.",
			Tags:        []string{"people"}, InputModes: []string{"application/json"},
			Run: func(context.Context, agent.Run) (agent.Outcome, error) {
				return agent.Outcome{}, fault.New(fault.Unavailable, "reviews are not taken yet")
			},
		}},
	}
}
