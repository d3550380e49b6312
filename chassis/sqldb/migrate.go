package sqldb

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"
)

// ErrNewer says that the database was written by a newer release than this one.
var ErrNewer = errors.New("the database belongs to a newer release; run that release, or restore a backup made by this one")

// Migrate brings the tables of one component to the newest version. Files are
// goose SQL migrations at the root of fsys; the version table is goose_<component>.
// A database that is ahead of the files gives ErrNewer and is left untouched.
func Migrate(ctx context.Context, db *DB, component string, fsys fs.FS) error {
	dialect := database.DialectSQLite3
	if db.Dialect == Postgres {
		dialect = database.DialectPostgres
	}
	store, err := database.NewStore(dialect, "goose_"+component)
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
		return fmt.Errorf("%s is at version %d, this release knows %d: %w", component, current, target, ErrNewer)
	}
	if current == target {
		return nil
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("migrate %s: %w", component, err)
	}
	return nil
}
