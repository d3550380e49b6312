// Package a2aagent is the review agent as an A2A agent: its skill review makes a
// person's decision a task like any other.
package a2aagent

import (
	"context"
	"database/sql"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/clock"
	"sabha.dev/chassis/ext"
	"sabha.dev/services/review/internal/item"
)

// Review is the id of the skill.
const Review = "review"

// maxWait is how long a review waits where the policy sets no end.
const maxWait = 365 * 24 * time.Hour

// Items are where items are kept.
type Items interface {
	Get(ctx context.Context, id string) (*item.Item, error)
	Snapshot(ctx context.Context, id string) (*item.Snapshot, error)
	Exchanges(ctx context.Context, id string) ([]item.Exchange, error)
	// Insert and Rows write in the transaction of the task.
	Insert(i *item.Item, snapshot []byte, e item.Event) func(context.Context, *sql.Tx) error
	Rows(id string, f item.Make, done func(*item.Item, *item.Change)) func(context.Context, *sql.Tx) error
}

// New makes the agent. Its further skills come after review.
func New(items Items, policy Policy, c clock.Clock, counts *Counts, version string, more ...agent.Skill) agent.Agent {
	p := &persona{items, policy, c, counts}
	return agent.Agent{
		Tenant: "review", Name: "Review", Version: version,
		Description: "People as an agent: what needs a person waits here until one has decided.",
		Skills: append([]agent.Skill{{
			ID: Review, Name: "Review", Internal: true, OwnClock: true, Compensates: true, Budget: maxWait,
			Description: "Lets people decide. Data part {kind, title, content, schema?, effect, reasons?, confidence?, sources?, labels?, request?, plan?, context?, product?, risk?, playbook?, step?}; " +
				"kind is result, action or confirmation. The task works until somebody has decided, and says in its metadata whom it waits for. " +
				"Answers {decision, content, edited, original?, decisions, item}; decision is approved, rejected or expired.",
			Tags: []string{"people"}, InputModes: []string{"application/json", "text/plain"},
			Check: p.check, Run: p.run,
		}}, more...),
		Extensions: []*a2apb.AgentExtension{{Uri: ext.Wait, Description: "While a task waits for a person, its metadata says so: queue, due and until."}},
	}
}

type persona struct {
	items  Items
	policy Policy
	clock  clock.Clock
	counts *Counts
}

func (p *persona) check(_ context.Context, req *agent.Request) error {
	_, err := read(req.Message)
	return err
}
