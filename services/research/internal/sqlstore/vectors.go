package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"sabha.dev/services/research/internal/embed"
	"sabha.dev/services/research/internal/ingest"
)

var _ ingest.Shelf = (*Store)(nil)

// Unembedded implements ingest.Shelf.
func (s *Store) Unembedded(ctx context.Context, collection, embedder string) ([]string, error) {
	rows, err := s.db.Read.QueryContext(ctx, `SELECT name FROM documents WHERE collection = $1 AND embedding <> $2 ORDER BY name`, collection, embedder)
	if err != nil {
		return nil, fmt.Errorf("list documents: %w", err)
	}
	defer rows.Close()
	var names []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, fmt.Errorf("list documents: %w", err)
		}
		names = append(names, name)
	}
	return names, rows.Err()
}

// Text implements ingest.Shelf.
func (s *Store) Text(ctx context.Context, collection, name, embedder string) (*ingest.Text, error) {
	tx, err := s.db.Read.BeginTx(ctx, &sql.TxOptions{ReadOnly: true, Isolation: s.snapshot()})
	if err != nil {
		return nil, fmt.Errorf("read document: %w", err)
	}
	defer func() { _ = tx.Rollback() }()
	t := ingest.Text{Name: name}
	var metadata string
	err = tx.QueryRowContext(ctx,
		`SELECT title, version, metadata FROM documents WHERE collection = $1 AND name = $2 AND embedding <> $3`, collection, name, embedder).
		Scan(&t.Title, &t.Version, &metadata)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal([]byte(metadata), &t.Metadata)
	}
	if err != nil {
		return nil, fmt.Errorf("read document: %w", err)
	}
	passages, err := loadPassages(ctx, tx, collection, name)
	if err != nil {
		return nil, fmt.Errorf("read document: %w", err)
	}
	for _, p := range passages {
		t.Chunks = append(t.Chunks, p.Chunk)
	}
	return &t, nil
}

// Embed implements ingest.Shelf. The document becomes another version, so that every
// index takes its vectors up.
func (s *Store) Embed(ctx context.Context, collection string, of *ingest.Text, embedder string, vectors [][]float32) error {
	if len(vectors) != len(of.Chunks) {
		return errors.New("a vector for each chunk is needed")
	}
	tx, err := s.db.Write.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("store vectors: %w", err)
	}
	defer func() { _ = tx.Rollback() }()
	generation, err := next(ctx, tx, collection)
	if err != nil {
		return fmt.Errorf("store vectors: %w", err)
	}
	res, err := tx.ExecContext(ctx,
		`UPDATE documents SET version = $1, embedding = $2 WHERE collection = $3 AND name = $4 AND version = $5`,
		generation, embedder, collection, of.Name, of.Version)
	if err != nil {
		return fmt.Errorf("store vectors: %w", err)
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return errors.Join(ingest.ErrChanged, err)
	}
	for i, c := range of.Chunks {
		if _, err := tx.ExecContext(ctx,
			`UPDATE vectors SET embedding = $1 WHERE collection = $2 AND document = $3 AND ordinal = $4`,
			embed.Quantise(vectors[i]).Bytes(), collection, of.Name, c.Ordinal); err != nil {
			return fmt.Errorf("store vectors: %w", err)
		}
	}
	return tx.Commit()
}
