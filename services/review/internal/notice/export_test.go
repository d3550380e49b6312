package notice

import (
	"context"
	"errors"
)

// Once tells what is due.
func (s *Sender) Once(ctx context.Context) (int, error) {
	published, err := s.once(ctx, true)
	posted, problem := s.once(ctx, false)
	return published + posted, errors.Join(err, problem)
}

// Waiting are the notices that are not told yet, with the problem of the last attempt.
func (s *Sender) Waiting(ctx context.Context) (map[string]string, error) {
	found, err := s.rows.db.Read.QueryContext(ctx, `SELECT id, problem FROM review_notices`)
	if err != nil {
		return nil, err
	}
	defer func() { _ = found.Close() }()
	list := map[string]string{}
	for found.Next() {
		var id, problem string
		if err := found.Scan(&id, &problem); err != nil {
			return nil, err
		}
		list[id] = problem
	}
	return list, found.Err()
}

// Plain is the form of text from elsewhere.
func Plain(s string) string { return plain(s) }
