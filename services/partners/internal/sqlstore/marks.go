package sqlstore

import (
	"context"
	"errors"
	"time"

	"sabha.dev/services/partners/internal/partner"
	"sabha.dev/services/partners/internal/registry"
	"sabha.dev/services/partners/internal/trust"
)

// Marks are the suspensions of partners since a time, and those that last, by
// organisation: what counts against its trust.
func (s *Store) Marks(ctx context.Context, since time.Time) (_ map[string][]trust.Mark, err error) {
	rows, err := s.db.Read.QueryContext(ctx, `SELECT p.id, p.organisation, p.state, h.at,
			h.seq = (SELECT MAX(seq) FROM registry_history WHERE partner_id = p.id AND what = $1)
		FROM registry_history h JOIN registry_partners p ON p.id = h.partner_id
		WHERE h.what = $1 AND (h.at >= $2 OR p.state = $3) ORDER BY h.at`, registry.SuspendedNow, micros(since), string(partner.Suspended))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	all := map[string][]trust.Mark{}
	for rows.Next() {
		m := trust.Mark{Kind: trust.Suspended}
		var organisation, state string
		var at int64
		var last bool
		if err := rows.Scan(&m.Partner, &organisation, &state, &at, &last); err != nil {
			return nil, err
		}
		m.At, m.Open = moment(at), last && partner.State(state) == partner.Suspended
		if !m.Open && m.At.Before(since) {
			continue
		}
		organisation = trust.Organisation(organisation)
		all[organisation] = append(all[organisation], m)
	}
	return all, rows.Err()
}
