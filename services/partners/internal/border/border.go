// Package border decides by the agreement with a partner what may leave for it, and makes
// the record of everything that crosses.
package border

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"

	"sabha.dev/chassis/clock"
	"sabha.dev/chassis/disclosure"
	"sabha.dev/services/partners/internal/a2aagent"
	"sabha.dev/services/partners/internal/crossing"
)

// Border is that of the platform. It keeps nothing itself.
type Border struct {
	clock  clock.Clock
	ledger *crossing.Ledger
}

// New makes it.
func New(c clock.Clock, l *crossing.Ledger) *Border { return &Border{c, l} }

var _ a2aagent.Border = (*Border)(nil)

// Leave decides what of parts leaves for the partner, by the section disclosure of its
// agreement; without one nothing sensitive does.
func (b *Border) Leave(ctx context.Context, c a2aagent.Crossing, parts []*a2apb.Part) (a2aagent.Cleared, error) {
	policy := c.Terms.Agreement.Disclosure
	to := disclosure.Recipient{Partner: c.Partner.ID, Organisation: c.Partner.Organisation, Skill: c.Terms.Address.Skill}.For(c.Purpose)
	r, err := policy.Outbound(ctx, to, parts)
	if err != nil {
		return a2aagent.Cleared{}, err
	}
	cleared := a2aagent.Cleared{
		Parts: r.Parts, Refused: r.Refused,
		Record: b.ledger.Record(crossing.Left("out/"+c.Message, c.RootTaskID, to, c.Purpose, version(c), b.clock.Now(), parts, r)),
	}
	if r.Tokens != nil {
		if cleared.Sealed, err = json.Marshal(r.Tokens); err != nil {
			return a2aagent.Cleared{}, fmt.Errorf("tokens of what leaves: %w", err)
		}
	}
	return cleared, nil
}

// Open gives how many bytes at the end of a text may be the beginning of a token.
func (b *Border) Open(text string) int { return disclosure.Open(text) }

// Arrive resolves in an answer the tokens of what was sealed, and records that it came.
func (b *Border) Arrive(_ context.Context, c a2aagent.Crossing, sealed []byte, parts []*a2apb.Part) ([]*a2apb.Part, a2aagent.Record, error) {
	bytes, digest := crossing.Measure(parts)
	came := crossing.Crossing{
		ID: "in/" + c.Message + "/" + digest, Task: c.RootTaskID, Partner: c.Partner.ID, Skill: c.Terms.Address.Skill, Direction: crossing.In,
		At: b.clock.Now(), Bytes: bytes, Digest: digest, Policy: version(c), Purpose: c.Purpose,
	}
	if len(sealed) == 0 {
		return parts, b.ledger.Record(came), nil
	}
	var tokens disclosure.Tokens
	if err := json.Unmarshal(sealed, &tokens); err != nil {
		return nil, nil, fmt.Errorf("tokens of what left: %w", err)
	}
	return tokens.Restore(parts), b.ledger.Record(came), nil
}

func version(c a2aagent.Crossing) string {
	return c.Terms.Agreement.Version + "/" + c.Terms.Agreement.Digest[:min(12, len(c.Terms.Agreement.Digest))]
}
