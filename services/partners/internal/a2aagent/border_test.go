package a2aagent_test

import (
	"context"
	"database/sql"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/proto"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/taskstore"
	"sabha.dev/services/partners/internal/a2aagent"
)

// border stands in for what decides what leaves: it refuses what says "secret" and hides
// what says "Ada" behind a token. Its record is a table.
type border struct {
	later func(string, taskstore.Rows)
}

const token = "<person-1>"

func (b border) record(message, way, said string) a2aagent.Record {
	return crossed{b, message, way, said}
}

type crossed struct {
	border
	message, way, said string
}

func (c crossed) Rows(ctx context.Context, tx *sql.Tx) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO crossed (message, way, said) VALUES ($1, $2, $3)`, c.message, c.way, c.said)
	return err
}

func (c crossed) Later() error {
	c.later(c.message, c.Rows)
	return nil
}

func replaced(parts []*a2apb.Part, from, to string) []*a2apb.Part {
	out := make([]*a2apb.Part, len(parts))
	for i, p := range parts {
		out[i] = proto.CloneOf(p)
		if t, ok := out[i].GetContent().(*a2apb.Part_Text); ok {
			t.Text = strings.ReplaceAll(t.Text, from, to)
		}
	}
	return out
}

func (b border) Leave(_ context.Context, c a2aagent.Crossing, parts []*a2apb.Part) (a2aagent.Cleared, error) {
	text := agent.TextOf(parts)
	out := a2aagent.Cleared{Parts: replaced(parts, "Ada", token)}
	if strings.Contains(text, "secret") {
		out.Refused = "it holds a secret, which no rule of the agreement lets out"
	}
	if strings.Contains(text, "Ada") {
		out.Sealed = []byte("Ada")
	}
	out.Record = b.record(c.Message, "out", agent.TextOf(out.Parts))
	return out, nil
}

func (border) Open(text string) int {
	for n := min(len(token)-1, len(text)); n > 0; n-- {
		if strings.HasSuffix(text, token[:n]) {
			return n
		}
	}
	return 0
}

func (b border) Arrive(_ context.Context, c a2aagent.Crossing, sealed []byte, parts []*a2apb.Part) ([]*a2apb.Part, a2aagent.Record, error) {
	if sealed != nil {
		parts = replaced(parts, token, string(sealed))
	}
	return parts, b.record(c.Message, "in", ""), nil
}
