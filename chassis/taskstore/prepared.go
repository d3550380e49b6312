package taskstore

import (
	"context"
	"database/sql"
	"sync"

	"sabha.dev/chassis/sqldb"
)

// maxPrepared bounds the statements of searches that are kept. There are as many texts
// as filters are combined; later ones are parsed each time.
const maxPrepared = 256

// prepared keeps the statements of searches by their text. SQLite parses a text anew
// each time that it is given, which takes a third of a list; PostgreSQL's driver keeps
// them itself.
type prepared struct {
	mu     sync.Mutex
	byText map[string]*sql.Stmt
}

func (p *prepared) query(ctx context.Context, db *sqldb.DB, text string, args []any) (*sql.Rows, error) {
	if db.Dialect != sqldb.SQLite {
		return db.Read.QueryContext(ctx, text, args...)
	}
	p.mu.Lock()
	stmt, known := p.byText[text]
	full := len(p.byText) >= maxPrepared
	p.mu.Unlock()
	if !known && full {
		return db.Read.QueryContext(ctx, text, args...)
	}
	if !known {
		var err error
		if stmt, err = db.Read.PrepareContext(ctx, text); err != nil {
			return nil, err
		}
		stmt = p.keep(text, stmt)
	}
	return stmt.QueryContext(ctx, args...)
}

// keep gives the statement that is kept of a text: this one, unless another was faster.
func (p *prepared) keep(text string, stmt *sql.Stmt) *sql.Stmt {
	p.mu.Lock()
	defer p.mu.Unlock()
	if first, known := p.byText[text]; known {
		_ = stmt.Close()
		return first
	}
	if p.byText == nil {
		p.byText = map[string]*sql.Stmt{}
	}
	p.byText[text] = stmt
	return stmt
}
