package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"sabha.dev/services/research/internal/library"
)

// Document gives one document of a collection; nil if there is none of the name.
func (s *Store) Document(ctx context.Context, collection, name string) (*library.Document, error) {
	tx, err := s.db.Read.BeginTx(ctx, &sql.TxOptions{ReadOnly: true, Isolation: s.snapshot()})
	if err != nil {
		return nil, fmt.Errorf("read document: %w", err)
	}
	defer func() { _ = tx.Rollback() }()
	d := library.Document{ID: name, Passages: []library.Passage{}}
	var metadata string
	err = tx.QueryRowContext(ctx,
		`SELECT title, format, digest, bytes, metadata, ingested_at FROM documents WHERE collection = $1 AND name = $2`, collection, name).
		Scan(&d.Title, &d.Format, &d.Digest, &d.Bytes, &metadata, &d.Ingested)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal([]byte(metadata), &d.Metadata)
	}
	if err == nil {
		d.Passages, err = passagesOf(ctx, tx, collection, name)
	}
	if err != nil {
		return nil, fmt.Errorf("read document: %w", err)
	}
	return &d, nil
}

func passagesOf(ctx context.Context, tx *sql.Tx, collection, name string) ([]library.Passage, error) {
	rows, err := tx.QueryContext(ctx,
		`SELECT heading_path, start_byte, end_byte, body FROM chunks WHERE collection = $1 AND document = $2 ORDER BY ordinal`, collection, name)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	passages := []library.Passage{}
	for rows.Next() {
		var p library.Passage
		var path string
		if err := rows.Scan(&path, &p.Start, &p.End, &p.Text); err != nil {
			return nil, err
		}
		if err := json.Unmarshal([]byte(path), &p.HeadingPath); err != nil {
			return nil, err
		}
		passages = append(passages, p)
	}
	return passages, rows.Err()
}

// ListChanges lists at most so many documents that were added or changed after a place, the
// oldest change first.
func (s *Store) ListChanges(ctx context.Context, collection string, after library.Cursor, limit int) ([]library.Change, error) {
	rows, err := s.db.Read.QueryContext(ctx,
		`SELECT name, title, digest, ingested_at, version FROM documents
		 WHERE collection = $1 AND (version > $2 OR (version = $2 AND name > $3)) ORDER BY version, name LIMIT $4`,
		collection, after.Generation, after.Name, limit)
	if err != nil {
		return nil, fmt.Errorf("list changes: %w", err)
	}
	defer rows.Close()
	changes := []library.Change{}
	for rows.Next() {
		var c library.Change
		if err := rows.Scan(&c.ID, &c.Title, &c.Digest, &c.Ingested, &c.At.Generation); err != nil {
			return nil, fmt.Errorf("list changes: %w", err)
		}
		c.At.Name = c.ID
		changes = append(changes, c)
	}
	return changes, rows.Err()
}
