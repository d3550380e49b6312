package sqlstore

import (
	"context"
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"sabha.dev/chassis/sqldb"
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

// Load implements retrieval.Source; documents come in the order of their names.
func (s *Store) Load(ctx context.Context, collection string, known map[string]int64) (int64, []retrieval.Document, error) {
	// All reads are of one moment: SQLite gives that to every transaction,
	// PostgreSQL when asked.
	tx, err := s.db.Read.BeginTx(ctx, &sql.TxOptions{ReadOnly: true, Isolation: s.snapshot()})
	if err != nil {
		return 0, nil, fmt.Errorf("load documents: %w", err)
	}
	defer func() { _ = tx.Rollback() }()
	n, err := generation(ctx, tx, collection)
	if err != nil {
		return 0, nil, err
	}
	documents, err := loadDocuments(ctx, tx, collection)
	if err != nil {
		return 0, nil, fmt.Errorf("load documents: %w", err)
	}
	for i := range documents {
		d := &documents[i]
		if version, ok := known[d.Name]; ok && version == d.Version {
			continue
		}
		if d.Passages, err = loadPassages(ctx, tx, collection, d.Name); err != nil {
			return 0, nil, fmt.Errorf("load document %s: %w", d.Name, err)
		}
	}
	return n, documents, nil
}

func (s *Store) snapshot() sql.IsolationLevel {
	if s.db.Dialect == sqldb.Postgres {
		return sql.LevelRepeatableRead
	}
	return sql.LevelDefault
}

func loadDocuments(ctx context.Context, tx *sql.Tx, collection string) ([]retrieval.Document, error) {
	rows, err := tx.QueryContext(ctx,
		`SELECT name, title, digest, version, embedding, metadata FROM documents WHERE collection = $1 ORDER BY name`, collection)
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
		var path string
		var vector []byte
		if err := rows.Scan(&p.Ordinal, &path, &p.Start, &p.End, &p.Words, &p.Text, &vector); err != nil {
			return nil, err
		}
		if err := json.Unmarshal([]byte(path), &p.HeadingPath); err != nil {
			return nil, err
		}
		p.Vector = decode(vector)
		passages = append(passages, p)
	}
	return passages, rows.Err()
}

func encode(v []float32) []byte {
	out := make([]byte, 0, 4*len(v))
	for _, x := range v {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(x))
	}
	return out
}

func decode(b []byte) []float32 {
	v := make([]float32, len(b)/4)
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return v
}
