package sqlstore

import (
	"context"
	"crypto/rand"

	"sabha.dev/chassis/identity"
	"sabha.dev/services/console/internal/filter"
)

// Filters lists the filters of a page that a person sees: their own, then those that
// others of the organisation share, each by name.
func (s *Store) Filters(ctx context.Context, p identity.Principal, page string) ([]filter.Filter, error) {
	rows, err := s.db.Read.QueryContext(ctx, `SELECT id, organisation, subject, page, name, query, shared, created_at FROM saved_filters
		WHERE organisation = $1 AND page = $2 AND (subject = $3 OR shared = 1) ORDER BY CASE WHEN subject = $3 THEN 0 ELSE 1 END, name, subject`,
		p.Organisation, page, p.Subject)
	if err != nil {
		return nil, named("list filters", err)
	}
	defer func() { _ = rows.Close() }()
	var all []filter.Filter
	for rows.Next() {
		var f filter.Filter
		var shared, created int64
		if err := rows.Scan(&f.ID, &f.Owner.Organisation, &f.Owner.Subject, &f.Page, &f.Name, &f.Query, &shared, &created); err != nil {
			return nil, named("list filters", err)
		}
		f.Shared, f.Created = shared != 0, when(created)
		all = append(all, f)
	}
	return all, named("list filters", rows.Err())
}

// SaveFilter stores a filter; one of the same owner, page and name is replaced. Of f,
// ID is not used. The errors are filter.ErrBad and filter.ErrMany.
func (s *Store) SaveFilter(ctx context.Context, f filter.Filter) error {
	if err := f.Check(); err != nil {
		return err
	}
	n, err := s.changed(ctx, `UPDATE saved_filters SET query = $5, shared = $6 WHERE organisation = $1 AND subject = $2 AND page = $3 AND name = $4`,
		f.Owner.Organisation, f.Owner.Subject, f.Page, f.Name, f.Query, flag(f.Shared))
	if err != nil || n == 1 {
		return named("save a filter", err)
	}
	n, err = s.changed(ctx, `INSERT INTO saved_filters (id, organisation, subject, page, name, query, shared, created_at)
		SELECT $1, $2, $3, $4, $5, $6, CAST($7 AS BIGINT), CAST($8 AS BIGINT)
		WHERE (SELECT COUNT(*) FROM saved_filters WHERE organisation = $2 AND subject = $3 AND page = $4) < $9
		ON CONFLICT (organisation, subject, page, name) DO UPDATE SET query = excluded.query, shared = excluded.shared`,
		rand.Text(), f.Owner.Organisation, f.Owner.Subject, f.Page, f.Name, f.Query, flag(f.Shared), nanos(f.Created), filter.Most)
	if err == nil && n == 0 {
		err = filter.ErrMany
	}
	return named("save a filter", err)
}

// DeleteFilter removes a filter of a person; filter.ErrNone when they have none of the id.
func (s *Store) DeleteFilter(ctx context.Context, p identity.Principal, id string) error {
	n, err := s.changed(ctx, `DELETE FROM saved_filters WHERE id = $1 AND organisation = $2 AND subject = $3`, id, p.Organisation, p.Subject)
	if err == nil && n == 0 {
		err = filter.ErrNone
	}
	return named("delete a filter", err)
}
