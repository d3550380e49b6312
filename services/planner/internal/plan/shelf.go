package plan

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/sqldb"
	"sabha.dev/services/planner/internal/draft"
	"sabha.dev/services/planner/playbook"
)

// Books are the installed playbooks, which new plans begin with, and the texts that
// plans have begun with, which they keep to: a file may have changed or gone since, or
// the plan may have begun on a replica of a newer release.
type Books struct {
	*playbook.Library
	db *sqldb.DB

	kept sync.Map // digests whose text is stored
	read sync.Map // *playbook.Playbook of stored texts, by digest
}

// OpenBooks reads and keeps texts in a database whose tables exist.
func OpenBooks(db *sqldb.DB, installed *playbook.Library) *Books {
	return &Books{Library: installed, db: db}
}

// keep stores the text of a playbook before the first plan of this process begins with it.
func (b *Books) keep(ctx context.Context, book *playbook.Playbook, now time.Time) error {
	if _, done := b.kept.Load(book.Digest); done {
		return nil
	}
	_, err := b.db.Write.ExecContext(ctx, `INSERT INTO playbooks (digest, name, version, source, kept_at) VALUES ($1, $2, $3, $4, $5) ON CONFLICT (digest) DO NOTHING`,
		book.Digest, book.Name, string(book.Version), string(book.Source), now.UnixNano())
	if err != nil {
		return fmt.Errorf("playbook %s@%s: %w", book.Name, book.Version, err)
	}
	if book.Name != draft.Name { // which has a text for each plan
		b.kept.Store(book.Digest, true)
	}
	return nil
}

// begunWith gives the playbook of a plan. Plans of releases that kept no text have no
// digest and take the installed one of their version. With errNoPlaybook there is no
// text, or it says what this release cannot read.
func (b *Books) begunWith(ctx context.Context, name string, version playbook.Version, digest string) (*playbook.Playbook, error) {
	book, installed := b.Version(name, version)
	if installed && (digest == "" || digest == book.Digest) {
		return book, nil
	}
	if digest == "" {
		return nil, fmt.Errorf("%s@%s is not installed: %w", name, version, errNoPlaybook)
	}
	if book, known := b.read.Load(digest); known {
		return book.(*playbook.Playbook), nil
	}
	var source string
	err := b.db.Read.QueryRowContext(ctx, `SELECT source FROM playbooks WHERE digest = $1`, digest).Scan(&source)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fmt.Errorf("%s@%s has no stored text: %w", name, version, errNoPlaybook)
	}
	if err != nil {
		return nil, err
	}
	return b.parse(name, version, digest, source)
}

// parse reads a stored text. Its agents are not looked for: a plan that has begun meets
// them, or their absence, at its steps.
func (b *Books) parse(name string, version playbook.Version, digest, source string) (*playbook.Playbook, error) {
	book, err := playbook.Parse(fmt.Sprintf("%s@%s (stored)", name, version), []byte(source), nil)
	if err != nil {
		return nil, fmt.Errorf("%s@%s: %w: %w", name, version, errNoPlaybook, err)
	}
	if name != draft.Name {
		b.read.Store(digest, book)
	}
	return book, nil
}

// find gives the playbook that an operator names: an installed one, or the newest text
// of a version that plans have begun with. Path is the field of the request that names it.
func (b *Books) find(ctx context.Context, ref, path string) (*playbook.Playbook, error) {
	book, unknown := b.Find(ref)
	if unknown == nil {
		return book, nil
	}
	unknown = fault.Invalid(path, "%s", unknown)
	name, version, pinned := strings.Cut(ref, "@")
	if !pinned {
		return nil, unknown
	}
	var digest, source string
	err := b.db.Read.QueryRowContext(ctx, `SELECT digest, source FROM playbooks WHERE name = $1 AND version = $2 ORDER BY kept_at DESC LIMIT 1`, name, version).Scan(&digest, &source)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, unknown
	}
	if err != nil {
		return nil, err
	}
	return b.parse(name, playbook.Version(version), digest, source)
}

// changed tells whether plans have begun with another text under the same name and version.
func (b *Books) changed(ctx context.Context, book *playbook.Playbook) (bool, error) {
	var other bool
	err := b.db.Read.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM playbooks WHERE name = $1 AND version = $2 AND digest <> $3)`,
		book.Name, string(book.Version), book.Digest).Scan(&other)
	return other, err
}

// versions are those that plans have begun with, newest first.
func (b *Books) versions(ctx context.Context, name string) ([]playbook.Version, error) {
	rows, err := b.db.Read.QueryContext(ctx, `SELECT DISTINCT version FROM playbooks WHERE name = $1`, name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var list []playbook.Version
	for rows.Next() {
		var v playbook.Version
		if err := rows.Scan(&v); err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	slices.SortFunc(list, func(a, b playbook.Version) int { return b.Compare(a) })
	return list, rows.Err()
}
