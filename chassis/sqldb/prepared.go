package sqldb

import (
	"context"
	"database/sql"
	"sync"
)

// maxPrepared bounds the statements that are kept. There are as many texts as filters are
// combined; later ones are parsed each time.
const maxPrepared = 256

// Prepared reads from a database and keeps the statements of its queries by their text.
// SQLite parses a text anew each time that it is given, which takes a third of a list;
// PostgreSQL's driver keeps them itself. It is safe for concurrent use.
type Prepared struct {
	db     *DB
	mu     sync.Mutex
	byText map[string]*sql.Stmt
}

// Prepared makes a reader whose statements are kept until the database is closed.
func (db *DB) Prepared() *Prepared { return &Prepared{db: db, byText: map[string]*sql.Stmt{}} }

// QueryContext queries as [sql.DB.QueryContext] does.
func (p *Prepared) QueryContext(ctx context.Context, text string, args ...any) (*sql.Rows, error) {
	if p.db.Dialect != SQLite {
		return p.db.Read.QueryContext(ctx, text, args...)
	}
	p.mu.Lock()
	stmt, known := p.byText[text]
	full := len(p.byText) >= maxPrepared
	p.mu.Unlock()
	if !known && full {
		return p.db.Read.QueryContext(ctx, text, args...)
	}
	if !known {
		var err error
		if stmt, err = p.db.Read.PrepareContext(ctx, text); err != nil {
			return nil, err
		}
		stmt = p.keep(text, stmt)
	}
	return stmt.QueryContext(ctx, args...)
}

// keep gives the statement that is kept of a text: this one, unless another was faster.
func (p *Prepared) keep(text string, stmt *sql.Stmt) *sql.Stmt {
	p.mu.Lock()
	defer p.mu.Unlock()
	if first, known := p.byText[text]; known {
		_ = stmt.Close()
		return first
	}
	p.byText[text] = stmt
	return stmt
}
