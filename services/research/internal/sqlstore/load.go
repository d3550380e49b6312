package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"sabha.dev/chassis/sqldb"
	"sabha.dev/services/research/internal/chunk"
	"sabha.dev/services/research/internal/embed"
	"sabha.dev/services/research/internal/retrieval"
)

// Generation implements retrieval.Source. A collection that nothing was
// ever ingested into has generation 0.
func (s *Store) Generation(ctx context.Context, collection string) (int64, error) {
	return generation(ctx, s.db.Read, collection)
}

type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

func generation(ctx context.Context, q querier, collection string) (int64, error) {
	var n int64
	err := q.QueryRowContext(ctx, `SELECT generation FROM collections WHERE name = $1`, collection).Scan(&n)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read generation: %w", err)
	}
	return n, nil
}

// Changes implements retrieval.Source.
func (s *Store) Changes(ctx context.Context, collection string, after int64, to retrieval.Receiver) (int64, error) {
	// All reads are of one moment: SQLite gives that to every transaction,
	// PostgreSQL when asked.
	tx, err := s.db.Read.BeginTx(ctx, &sql.TxOptions{ReadOnly: true, Isolation: s.snapshot()})
	if err != nil {
		return 0, fmt.Errorf("load documents: %w", err)
	}
	defer func() { _ = tx.Rollback() }()
	now, err := generation(ctx, tx, collection)
	if err != nil {
		return 0, err
	}
	changed, err := loadDocuments(ctx, tx, collection, after)
	if err != nil {
		return 0, fmt.Errorf("load documents: %w", err)
	}
	for _, d := range changed {
		if d.Passages, err = loadPassages(ctx, tx, collection, d.Name); err != nil {
			return 0, fmt.Errorf("load document %s: %w", d.Name, err)
		}
		to.Put(d)
	}
	// Whatever was added is in the receiver by now: it has more only if
	// something is gone.
	count := 0
	if err := tx.QueryRowContext(ctx, `SELECT count(*) FROM documents WHERE collection = $1`, collection).Scan(&count); err != nil {
		return 0, fmt.Errorf("count documents: %w", err)
	}
	if count == to.Count() {
		return now, nil
	}
	names, err := loadNames(ctx, tx, collection)
	if err != nil {
		return 0, fmt.Errorf("list documents: %w", err)
	}
	to.Retain(names)
	return now, nil
}

func loadNames(ctx context.Context, tx *sql.Tx, collection string) (map[string]bool, error) {
	rows, err := tx.QueryContext(ctx, `SELECT name FROM documents WHERE collection = $1`, collection)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	names := map[string]bool{}
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		names[name] = true
	}
	return names, rows.Err()
}

func (s *Store) snapshot() sql.IsolationLevel {
	if s.db.Dialect == sqldb.Postgres {
		return sql.LevelRepeatableRead
	}
	return sql.LevelDefault
}

func loadDocuments(ctx context.Context, tx *sql.Tx, collection string, after int64) ([]retrieval.Document, error) {
	rows, err := tx.QueryContext(ctx,
		`SELECT name, title, digest, version, embedding, metadata FROM documents
		 WHERE collection = $1 AND version > $2 ORDER BY name`, collection, after)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var documents []retrieval.Document
	for rows.Next() {
		var d retrieval.Document
		var metadata string
		if err := rows.Scan(&d.Name, &d.Title, &d.Digest, &d.Version, &d.Embedding, &metadata); err != nil {
			return nil, err
		}
		if err := json.Unmarshal([]byte(metadata), &d.Metadata); err != nil {
			return nil, err
		}
		documents = append(documents, d)
	}
	return documents, rows.Err()
}

func loadPassages(ctx context.Context, tx *sql.Tx, collection, document string) ([]retrieval.Passage, error) {
	rows, err := tx.QueryContext(ctx,
		`SELECT c.ordinal, c.heading_path, c.start_byte, c.end_byte, c.words, c.body, v.embedding
		 FROM chunks c JOIN vectors v ON v.collection = c.collection AND v.document = c.document AND v.ordinal = c.ordinal
		 WHERE c.collection = $1 AND c.document = $2 ORDER BY c.ordinal`, collection, document)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var passages []retrieval.Passage
	for rows.Next() {
		var p retrieval.Passage
		var vector []byte
		if err := scanChunk(rows, &p.Chunk, &vector); err != nil {
			return nil, err
		}
		if p.Vector, err = embed.FromBytes(vector); err != nil {
			return nil, err
		}
		passages = append(passages, p)
	}
	return passages, rows.Err()
}

// Passages implements retrieval.Source.
func (s *Store) Passages(ctx context.Context, collection string, places []retrieval.Place) ([]retrieval.Read, error) {
	if len(places) == 0 {
		return nil, nil
	}
	args := []any{collection}
	wanted := make([]string, len(places))
	for i, p := range places {
		args = append(args, p.Document)
		// Numbers of ours, not text of anybody's: they may stand in the statement.
		wanted[i] = fmt.Sprintf("(CAST($%d AS TEXT), CAST(%d AS BIGINT), CAST(%d AS BIGINT))", len(args), p.Version, p.Ordinal)
	}
	// CROSS JOIN has SQLite begin with what is wanted: it would go through the collection.
	rows, err := s.db.Read.QueryContext(ctx,
		`WITH wanted (document, version, ordinal) AS (VALUES `+strings.Join(wanted, ", ")+`)
		 SELECT c.ordinal, c.heading_path, c.start_byte, c.end_byte, c.words, c.body, w.document, w.version
		 FROM wanted w CROSS JOIN documents d CROSS JOIN chunks c
		 WHERE d.collection = $1 AND d.name = w.document AND d.version = w.version
		 AND c.collection = $1 AND c.document = w.document AND c.ordinal = w.ordinal`, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []retrieval.Read
	for rows.Next() {
		var r retrieval.Read
		if err := scanChunk(rows, &r.Chunk, &r.Place.Document, &r.Place.Version); err != nil {
			return nil, err
		}
		r.Place.Ordinal = r.Chunk.Ordinal
		out = append(out, r)
	}
	return out, rows.Err()
}

func scanChunk(rows *sql.Rows, c *chunk.Chunk, more ...any) error {
	var path string
	if err := rows.Scan(append([]any{&c.Ordinal, &path, &c.Start, &c.End, &c.Words, &c.Text}, more...)...); err != nil {
		return err
	}
	return json.Unmarshal([]byte(path), &c.HeadingPath)
}
