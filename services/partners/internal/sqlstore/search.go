package sqlstore

import (
	"context"
	"fmt"
	"strings"

	"sabha.dev/services/partners/internal/registry"
)

// Search finds partners, without their cards: what is trusted most first.
func (s *Store) Search(ctx context.Context, f registry.Filter) ([]*registry.Record, error) {
	var (
		where []string
		args  []any
	)
	arg := func(v any) string {
		args = append(args, v)
		return fmt.Sprintf("$%d", len(args))
	}
	for _, t := range f.Terms() {
		match := "term >= " + arg([]byte(t.Text))
		if t.Prefix {
			match += " AND term < " + arg([]byte(t.Text+"\xff")) // which no text has
		} else {
			match = strings.Replace(match, ">=", "=", 1)
		}
		where = append(where, "id IN (SELECT partner_id FROM registry_terms WHERE "+match+")")
	}
	if f.Discoverable {
		where = append(where, "discoverable = 1")
	}
	if f.Callable {
		where = append(where, "callable = 1")
	}
	if f.OnlineOnly {
		where = append(where, "online = 1")
	}
	if f.MinTrust > 0 {
		where = append(where, "trust >= "+arg(f.MinTrust))
	}
	if len(f.States) > 0 {
		var marks []string
		for _, state := range f.States {
			marks = append(marks, arg(string(state)))
		}
		where = append(where, "state IN ("+strings.Join(marks, ",")+")")
	}
	if f.After != nil {
		trust := arg(f.After.Trust)
		where = append(where, "(trust < "+trust+" OR trust = "+trust+" AND id > "+arg(f.After.ID)+")")
	}
	query := `SELECT ` + brief + ` FROM registry_partners`
	if len(where) > 0 {
		query += " WHERE " + strings.Join(where, " AND ")
	}
	return list(ctx, s.db.Read, query+" ORDER BY trust DESC, id LIMIT "+arg(f.Limit), args...)
}
