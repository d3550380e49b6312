// Package sqlstore keeps research's documents in its database, SQLite or
// PostgreSQL.
package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"sabha.dev/chassis/clock"
	"sabha.dev/chassis/sqldb"
	"sabha.dev/services/research/internal/embed"
	"sabha.dev/services/research/internal/ingest"
	"sabha.dev/services/research/internal/retrieval"
	"sabha.dev/services/research/migrations"
)

// Component names the tables' version table (goose_research).
const Component = "research"

// Store is research's database.
type Store struct {
	db    *sqldb.DB
	clock clock.Clock
}

var (
	_ ingest.Store     = (*Store)(nil)
	_ retrieval.Source = (*Store)(nil)
)

// New uses a database whose tables Migrate has made.
func New(db *sqldb.DB, clock clock.Clock) *Store { return &Store{db: db, clock: clock} }

// Migrate brings the tables to this release's version.
func Migrate(ctx context.Context, db *sqldb.DB) error {
	return sqldb.Migrate(ctx, db, Component, migrations.Files)
}

// Fingerprints implements ingest.Store.
func (s *Store) Fingerprints(ctx context.Context, collection string) (map[string]ingest.Fingerprint, error) {
	rows, err := s.db.Read.QueryContext(ctx,
		`SELECT name, digest, splitter, embedding FROM documents WHERE collection = $1`, collection)
	if err != nil {
		return nil, fmt.Errorf("list documents: %w", err)
	}
	defer rows.Close()
	prints := map[string]ingest.Fingerprint{}
	for rows.Next() {
		var name string
		var print ingest.Fingerprint
		if err := rows.Scan(&name, &print.Digest, &print.Splitter, &print.Embedding); err != nil {
			return nil, fmt.Errorf("list documents: %w", err)
		}
		prints[name] = print
	}
	return prints, rows.Err()
}

// Apply implements ingest.Store.
func (s *Store) Apply(ctx context.Context, collection string, change ingest.Change) error {
	tx, err := s.db.Write.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("store documents: %w", err)
	}
	defer func() { _ = tx.Rollback() }()
	generation, err := next(ctx, tx, collection)
	if err != nil {
		return fmt.Errorf("store documents: %w", err)
	}
	if s.db.Dialect == sqldb.SQLite {
		// What is deleted is overwritten, not only given free. Nothing else that
		// this database keeps pays for it.
		if _, err := tx.ExecContext(ctx, `PRAGMA secure_delete = ON`); err != nil {
			return fmt.Errorf("overwrite what is deleted: %w", err)
		}
	}
	gone := int64(0)
	for _, name := range change.Remove {
		n, err := remove(ctx, tx, collection, name)
		if err != nil {
			return err
		}
		gone += n
	}
	for _, d := range change.Put {
		n, err := remove(ctx, tx, collection, d.Name)
		if err != nil {
			return err
		}
		gone += n
		if err := s.insert(ctx, tx, collection, generation, d); err != nil {
			return fmt.Errorf("store document %s: %w", d.Name, err)
		}
	}
	if s.db.Dialect == sqldb.SQLite {
		if _, err := tx.ExecContext(ctx, `PRAGMA secure_delete = OFF`); err != nil {
			return fmt.Errorf("overwrite what is deleted: %w", err)
		}
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("store documents: %w", err)
	}
	if gone > 0 && s.db.Dialect == sqldb.SQLite {
		// The log holds pages as they were; a reader in the way only delays this.
		if _, err := s.db.Write.ExecContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`); err != nil {
			return fmt.Errorf("empty the log of what is deleted: %w", err)
		}
	}
	return nil
}

// next begins a generation of a collection. The row's lock also puts its writers in order.
func next(ctx context.Context, tx *sql.Tx, collection string) (generation int64, err error) {
	err = tx.QueryRowContext(ctx,
		`INSERT INTO collections (name, generation) VALUES ($1, 1)
		 ON CONFLICT (name) DO UPDATE SET generation = collections.generation + 1 RETURNING generation`,
		collection).Scan(&generation)
	return generation, err
}

// remove deletes a document and tells how many there were, 0 or 1.
func remove(ctx context.Context, tx *sql.Tx, collection, name string) (int64, error) {
	res, err := tx.ExecContext(ctx, `DELETE FROM documents WHERE collection = $1 AND name = $2`, collection, name)
	if err != nil {
		return 0, fmt.Errorf("remove document %s: %w", name, err)
	}
	return res.RowsAffected()
}

func (s *Store) insert(ctx context.Context, tx *sql.Tx, collection string, generation int64, d ingest.Document) error {
	metadata, err := json.Marshal(d.Metadata)
	if err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx,
		`INSERT INTO documents (collection, name, version, title, format, digest, bytes, metadata, embedding, splitter, ingested_at)
		 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
		collection, d.Name, generation, d.Title, string(d.Format), d.Fingerprint.Digest, d.Bytes, string(metadata),
		d.Embedding, d.Splitter, s.clock.Now().UTC().Format(time.RFC3339)); err != nil {
		return err
	}
	if len(d.Chunks) != len(d.Vectors) {
		return errors.New("a vector for each chunk is needed")
	}
	chunks, err := tx.PrepareContext(ctx,
		`INSERT INTO chunks (collection, document, ordinal, heading_path, start_byte, end_byte, words, body)
		 VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`)
	if err != nil {
		return err
	}
	defer chunks.Close()
	vectors, err := tx.PrepareContext(ctx,
		`INSERT INTO vectors (collection, document, ordinal, embedding) VALUES ($1, $2, $3, $4)`)
	if err != nil {
		return err
	}
	defer vectors.Close()
	for i, c := range d.Chunks {
		path, err := json.Marshal(c.HeadingPath)
		if err != nil {
			return err
		}
		if _, err := chunks.ExecContext(ctx, collection, d.Name, c.Ordinal, string(path), c.Start, c.End, c.Words, c.Text); err != nil {
			return err
		}
		if _, err := vectors.ExecContext(ctx, collection, d.Name, c.Ordinal, embed.Quantise(d.Vectors[i]).Bytes()); err != nil {
			return err
		}
	}
	return nil
}
