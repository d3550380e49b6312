package partners

import (
	"context"
	"errors"
	"fmt"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/google/uuid"

	"sabha.dev/chassis/sqldb"
	"sabha.dev/services/partners/internal/a2aagent"
	"sabha.dev/services/partners/internal/agreement"
	"sabha.dev/services/partners/internal/border"
	"sabha.dev/services/partners/internal/contract"
	"sabha.dev/services/partners/internal/partner"
	"sabha.dev/services/partners/internal/remote"
)

// golden asks partners golden tasks. What they hold leaves by the agreement and is on
// record like everything else; the gate is not passed, for what is measured is the partner.
type golden struct {
	book   *agreement.Book
	border *border.Border
	client *remote.Client
	db     *sqldb.DB
}

var _ contract.Asker = golden{}

// Ask calls a skill.
func (g golden) Ask(ctx context.Context, p *partner.Partner, skill string, parts []*a2apb.Part) (remote.Answer, error) {
	terms := g.book.Of(p.ID, skill)
	if terms == nil {
		return remote.Answer{}, fmt.Errorf("no agreement allows %s/%s", p.ID, skill)
	}
	c := a2aagent.Crossing{Terms: terms, Partner: p, Message: "golden/" + uuid.NewString()}
	cleared, err := g.border.Leave(ctx, c, parts)
	if err != nil {
		return remote.Answer{}, err
	}
	if err := g.record(ctx, cleared.Record); err != nil {
		return remote.Answer{}, err
	}
	if cleared.Refused != "" {
		return remote.Answer{}, errors.New(cleared.Refused)
	}
	answer, err := g.client.Ask(ctx, p, skill, cleared.Parts)
	if err != nil {
		return answer, err
	}
	came, record, err := g.border.Arrive(ctx, c, cleared.Sealed, answer.Parts)
	if err != nil {
		return answer, err
	}
	answer.Parts = came
	return answer, g.record(ctx, record)
}

func (g golden) record(ctx context.Context, r a2aagent.Record) error {
	tx, err := g.db.Write.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	if err := r.Rows(ctx, tx); err != nil {
		return err
	}
	return tx.Commit()
}
