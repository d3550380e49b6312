// Package sqlstore keeps what MCP servers say of their tools, and what people have
// approved of it, in SQLite or PostgreSQL.
package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"time"

	"sabha.dev/chassis/clock"
	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/sqldb"
	"sabha.dev/services/executor/internal/toolhost"
)

// What happens to a tool.
const (
	Listed   = "listed"
	Changed  = "changed"
	Approved = "approved"
	Refused  = "refused"
)

// Platform is who acts where no person does.
const Platform = "configuration"

// Tool is a tool as it is known.
type Tool struct {
	Server, Name string
	// Definition is what the server says now, Digest its digest; ApprovedDefinition is what may be called.
	Definition, ApprovedDefinition json.RawMessage
	Digest, Approved, Refused      string
	ChangedAt                      time.Time
}

// Standing of what the server says now.
func (t Tool) Standing() toolhost.Standing { return standing(t.Digest, t.Approved, t.Refused) }

func standing(digest, approved, refused string) toolhost.Standing {
	switch digest {
	case approved:
		return toolhost.Approved
	case refused:
		return toolhost.Refused
	}
	return toolhost.Held
}

// Entry is a line of a tool's history.
type Entry struct {
	Server, Tool string
	Seq          int64
	At           time.Time
	// What is one of the constants; By is who.
	What, By, Digest, Note string
}

// fresh is how old what was read of decisions may be when a tool is called: one made at
// another replica counts within that time.
const fresh = time.Second

// Store of tools.
type Store struct {
	db    *sqldb.DB
	clock clock.Clock
	// Told hears what happened once it is stored; nil for nobody. It must not block.
	Told func(Entry)

	mu      sync.Mutex
	read    time.Time
	decided map[key]decision
}

type key struct{ server, tool string }

type decision struct{ approved, refused string }

var _ toolhost.Ledger = (*Store)(nil)

// New makes a store over a migrated database.
func New(db *sqldb.DB, c clock.Clock) *Store { return &Store{db: db, clock: c} }

// Standing of a definition, as decisions were at most [fresh] ago.
func (s *Store) Standing(ctx context.Context, server, tool, digest string) (toolhost.Standing, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := s.clock.Now(); s.decided == nil || now.Sub(s.read) >= fresh {
		all := map[key]decision{}
		rows, err := s.db.Read.QueryContext(ctx, `SELECT server, tool, approved, refused FROM mcp_tools`)
		if err != nil {
			return toolhost.Held, err
		}
		defer func() { _ = rows.Close() }()
		for rows.Next() {
			var (
				k key
				d decision
			)
			if err := rows.Scan(&k.server, &k.tool, &d.approved, &d.refused); err != nil {
				return toolhost.Held, err
			}
			all[k] = d
		}
		if err := rows.Err(); err != nil {
			return toolhost.Held, err
		}
		s.decided, s.read = all, now
	}
	d, ok := s.decided[key{server, tool}]
	if !ok {
		return toolhost.Held, nil
	}
	return standing(digest, d.approved, d.refused), nil
}

// forget has decisions read again.
func (s *Store) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.decided = nil
}

// Known are the names of all tools, by server.
func (s *Store) Known(ctx context.Context) (map[string][]string, error) {
	rows, err := s.db.Read.QueryContext(ctx, `SELECT server, tool FROM mcp_tools ORDER BY server, tool`)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	all := map[string][]string{}
	for rows.Next() {
		var server, tool string
		if err := rows.Scan(&server, &tool); err != nil {
			return nil, err
		}
		all[server] = append(all[server], tool)
	}
	return all, rows.Err()
}

// transact repeats what the database asks to repeat, and tells what happened.
func (s *Store) transact(ctx context.Context, f func(*sql.Tx, func(Entry)) error) error {
	var told []Entry
	tx, err := s.db.Write.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	if err := f(tx, func(e Entry) { told = append(told, e) }); err != nil {
		return err
	}
	for i, e := range told {
		e.At = s.clock.Now().UTC()
		if err := tx.QueryRowContext(ctx, `INSERT INTO mcp_tool_history (server, tool, seq, at, what, actor, digest, note)
			VALUES ($1, $2, (SELECT COALESCE(MAX(seq), 0) + 1 FROM mcp_tool_history WHERE server = $1 AND tool = $2), $3, $4, $5, $6, $7) RETURNING seq`,
			e.Server, e.Tool, e.At.UnixMicro(), e.What, e.By, e.Digest, e.Note).Scan(&e.Seq); err != nil {
			return err
		}
		told[i] = e
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	s.forget()
	if s.Told != nil {
		for _, e := range told {
			s.Told(e)
		}
	}
	return nil
}

// Offer says what a server lists now.
func (s *Store) Offer(ctx context.Context, server string, tools []toolhost.Definition, firstUse bool) error {
	known := map[string]string{}
	rows, err := s.db.Read.QueryContext(ctx, `SELECT tool, digest FROM mcp_tools WHERE server = $1`, server)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var tool, digest string
		if err := rows.Scan(&tool, &digest); err != nil {
			return err
		}
		known[tool] = digest
	}
	if err := rows.Err(); err != nil {
		return err
	}
	first := firstUse && len(known) == 0
	var news []toolhost.Definition
	for _, d := range tools {
		if known[d.Name] != d.Digest {
			news = append(news, d)
		}
	}
	if len(news) == 0 {
		return nil
	}
	return s.transact(ctx, func(tx *sql.Tx, tell func(Entry)) error {
		for _, d := range news {
			if err := s.offer(ctx, tx, tell, server, d, first); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *Store) offer(ctx context.Context, tx *sql.Tx, tell func(Entry), server string, d toolhost.Definition, first bool) error {
	now := s.clock.Now().UnixMicro()
	approved, definition := "", []byte{}
	if first {
		approved, definition = d.Digest, d.JSON
	}
	res, err := tx.ExecContext(ctx, `INSERT INTO mcp_tools (server, tool, definition, digest, approved_definition, approved, refused, changed_at)
		VALUES ($1, $2, $3, $4, $5, $6, '', $7) ON CONFLICT (server, tool) DO NOTHING`, server, d.Name, []byte(d.JSON), d.Digest, definition, approved, now)
	if err != nil {
		return err
	}
	e := Entry{Server: server, Tool: d.Name, By: Platform, Digest: d.Digest}
	if n, err := res.RowsAffected(); err != nil {
		return err
	} else if n == 1 {
		e.What = Listed
		tell(e)
		if first {
			e.What, e.Note = Approved, "the first use of the server"
			tell(e)
		}
		return nil
	}
	res, err = tx.ExecContext(ctx, `UPDATE mcp_tools SET definition = $3, digest = $4, changed_at = $5 WHERE server = $1 AND tool = $2 AND digest <> $4`,
		server, d.Name, []byte(d.JSON), d.Digest, now)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return err // another replica has seen it too
	}
	e.What = Changed
	tell(e)
	return nil
}

const columns = `server, tool, definition, digest, approved_definition, approved, refused, changed_at`

func scan(row interface{ Scan(...any) error }) (t Tool, err error) {
	var (
		changed              int64
		definition, approved []byte
	)
	err = row.Scan(&t.Server, &t.Name, &definition, &t.Digest, &approved, &t.Approved, &t.Refused, &changed)
	t.Definition, t.ChangedAt = definition, time.UnixMicro(changed).UTC()
	if len(approved) > 0 {
		t.ApprovedDefinition = approved
	}
	return t, err
}

// Standings counts tools by server.
func (s *Store) Standings(ctx context.Context) (map[string]map[toolhost.Standing]int, error) {
	rows, err := s.db.Read.QueryContext(ctx, `SELECT server, digest, approved, refused FROM mcp_tools`)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	all := map[string]map[toolhost.Standing]int{}
	for rows.Next() {
		var server, digest, approved, refused string
		if err := rows.Scan(&server, &digest, &approved, &refused); err != nil {
			return nil, err
		}
		if all[server] == nil {
			all[server] = map[toolhost.Standing]int{}
		}
		all[server][standing(digest, approved, refused)]++
	}
	return all, rows.Err()
}

// Tools are all tools, by name.
func (s *Store) Tools(ctx context.Context) ([]Tool, error) {
	rows, err := s.db.Read.QueryContext(ctx, `SELECT `+columns+` FROM mcp_tools ORDER BY server, tool`)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var all []Tool
	for rows.Next() {
		t, err := scan(rows)
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return all, rows.Err()
}

// Tool gives one by its full name. One that is not known is a fault.
func (s *Store) Tool(ctx context.Context, full string) (Tool, error) {
	server, tool, _ := strings.Cut(full, "/")
	t, err := scan(s.db.Read.QueryRowContext(ctx, `SELECT `+columns+` FROM mcp_tools WHERE server = $1 AND tool = $2`, server, tool))
	if errors.Is(err, sql.ErrNoRows) {
		return t, unknown(full)
	}
	return t, err
}

func unknown(full string) error {
	return fault.New(fault.ToolNotFound, "there is no tool %q; write SERVER/TOOL, as `sabha tool list` shows it", clip(full))
}

func clip(s string) string { return s[:min(len(s), 100)] }

// History of a tool, the newest first.
func (s *Store) History(ctx context.Context, server, tool string, limit int) ([]Entry, error) {
	rows, err := s.db.Read.QueryContext(ctx, `SELECT seq, at, what, actor, digest, note FROM mcp_tool_history
		WHERE server = $1 AND tool = $2 ORDER BY seq DESC LIMIT $3`, server, tool, limit)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var all []Entry
	for rows.Next() {
		e := Entry{Server: server, Tool: tool}
		var at int64
		if err := rows.Scan(&e.Seq, &at, &e.What, &e.By, &e.Digest, &e.Note); err != nil {
			return nil, err
		}
		e.At = time.UnixMicro(at).UTC()
		all = append(all, e)
	}
	return all, rows.Err()
}

// Decide approves or refuses what a server says of a tool now. digest is that of what the
// person has seen; if the server says something else by now, it is a fault.
func (s *Store) Decide(ctx context.Context, full, digest, by, note string, approve bool) (Tool, error) {
	server, tool, _ := strings.Cut(full, "/")
	set, what := `refused = digest, approved = CASE WHEN approved = digest THEN '' ELSE approved END`, Refused
	if approve {
		set, what = `approved = digest, approved_definition = definition, refused = ''`, Approved
	}
	var t Tool
	err := s.transact(ctx, func(tx *sql.Tx, tell func(Entry)) (err error) {
		t, err = scan(tx.QueryRowContext(ctx, `UPDATE mcp_tools SET `+set+` WHERE server = $1 AND tool = $2 AND digest = $3 RETURNING `+columns, server, tool, digest))
		if err == nil {
			tell(Entry{Server: server, Tool: tool, What: what, By: by, Digest: digest, Note: note})
		}
		return err
	})
	if !errors.Is(err, sql.ErrNoRows) {
		return t, err
	}
	if t, err = s.Tool(ctx, full); err != nil {
		return t, err
	}
	return t, fault.New(fault.ToolChanged, "the server says something else of %q by now; look at it again", full)
}
