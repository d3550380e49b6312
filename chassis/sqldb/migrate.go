package sqldb

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"
)

// Errors of a database that does not fit the program.
var (
	// ErrNewer says that the database was changed by a newer release in a way that
	// this one cannot work with.
	ErrNewer = errors.New("the database belongs to a newer release; run that release, or restore a backup made by this one")
	// ErrBehind says that the database has not been brought up to date.
	ErrBehind = errors.New("the database is not up to date")
)

// attempts bounds how often a migration on SQLite is tried while other processes
// migrate the same file: nothing but its own transactions locks them out.
const attempts = 5

// Migrate brings the tables of one component to the newest version. Files are
// goose SQL migrations at the root of fsys; the version table is goose_<component>.
// Several processes may do it at once: one works, the others find it done.
//
// A database that is ahead of the files is left as it is. The error is ErrNewer
// unless the release that changed it has stated that this one may use it.
func Migrate(ctx context.Context, db *DB, component string, fsys fs.FS) error {
	unlock, err := db.lock(ctx)
	if err != nil {
		return fmt.Errorf("migrate %s: %w", component, err)
	}
	defer unlock()
	for n := 1; ; n++ {
		err := migrate(ctx, db, component, fsys)
		if err == nil || errors.Is(err, ErrNewer) || db.Dialect == Postgres || n == attempts {
			return err
		}
	}
}

func migrate(ctx context.Context, db *DB, component string, fsys fs.FS) error {
	dialect := database.DialectSQLite3
	if db.Dialect == Postgres {
		dialect = database.DialectPostgres
	}
	store, err := database.NewStore(dialect, versionTable(component))
	if err != nil {
		return fmt.Errorf("migrate %s: %w", component, err)
	}
	provider, err := goose.NewProvider("", db.Write, fsys, goose.WithStore(store), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return fmt.Errorf("migrate %s: %w", component, err)
	}
	current, target, err := provider.GetVersions(ctx)
	if err != nil {
		return fmt.Errorf("migrate %s: %w", component, err)
	}
	if current > target {
		return admitted(ctx, db, component, current, target)
	}
	// Stated before the tables change: who starts in between is refused, not misled.
	if err := state(ctx, db, component, fsys, target); err != nil {
		return fmt.Errorf("migrate %s: %w", component, err)
	}
	if current == target {
		return nil
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("migrate %s: %w", component, err)
	}
	return nil
}

// lock keeps other processes from migrating the same schema of PostgreSQL until
// unlock. It is held by a transaction, so it ends with the connection and works
// through poolers of transactions.
func (db *DB) lock(ctx context.Context) (unlock func(), err error) {
	if db.Dialect != Postgres {
		return func() {}, nil
	}
	if err := db.ensureSchema(ctx); err != nil {
		return nil, err
	}
	tx, err := db.Write.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	for _, statement := range []string{
		`SET LOCAL ` + idleInTransaction + ` = 0`, // it is idle for as long as the migration takes
		`SELECT pg_advisory_xact_lock(hashtextextended('sabha migrate ' || current_schema(), 0))`,
	} {
		if _, err := tx.ExecContext(ctx, statement); err != nil {
			_ = tx.Rollback()
			return nil, err
		}
	}
	return func() { _ = tx.Rollback() }, nil
}
