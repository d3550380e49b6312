// Package sqlstore keeps findings in the service's database, SQLite or PostgreSQL.
package sqlstore

import (
	"context"
	"fmt"
	"strings"
	"time"

	"sabha.dev/chassis/sqldb"

	"sabha.dev/services/security/internal/finding"
)

// Findings is the table of findings.
type Findings struct{ db *sqldb.DB }

var _ finding.Store = Findings{}

// New is the table in a migrated database.
func New(db *sqldb.DB) Findings { return Findings{db: db} }

// Add writes findings in one transaction; those that are there stay as they are.
func (s Findings) Add(ctx context.Context, findings []finding.Finding) error {
	tx, err := s.db.Write.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("findings: %w", err)
	}
	defer func() { _ = tx.Rollback() }()
	for _, f := range findings {
		_, err := tx.ExecContext(ctx, `INSERT INTO findings (at, trace_id, digest, caller, verdict, confidence, rules, policy_version)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (at, trace_id, digest) DO NOTHING`,
			f.At.UnixMicro(), f.TraceID, f.Digest, f.Caller, f.Verdict, f.Confidence, strings.Join(f.Rules, " "), f.PolicyVersion)
		if err != nil {
			return fmt.Errorf("findings: %w", err)
		}
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("findings: %w", err)
	}
	return nil
}

// OfTrace gives the findings of a trace in the order of time.
func (s Findings) OfTrace(ctx context.Context, traceID string) ([]finding.Finding, error) {
	rows, err := s.db.Read.QueryContext(ctx, `SELECT at, trace_id, digest, caller, verdict, confidence, rules, policy_version
		FROM findings WHERE trace_id = $1 ORDER BY at, digest`, traceID)
	if err != nil {
		return nil, fmt.Errorf("findings: %w", err)
	}
	defer func() { _ = rows.Close() }()
	var out []finding.Finding
	for rows.Next() {
		var f finding.Finding
		var at int64
		var rules string
		if err := rows.Scan(&at, &f.TraceID, &f.Digest, &f.Caller, &f.Verdict, &f.Confidence, &rules, &f.PolicyVersion); err != nil {
			return nil, fmt.Errorf("findings: %w", err)
		}
		f.At, f.Rules = time.UnixMicro(at).UTC(), strings.Fields(rules)
		out = append(out, f)
	}
	return out, rows.Err()
}
