package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Component is a part of a schema with migrations of its own.
type Component struct {
	Name  string
	Files fs.FS
}

// Schema is all that a service keeps in its database. It has the schema of
// PostgreSQL, or the file of SQLite, for itself.
type Schema struct {
	Service    string
	Components []Component
}

// Migrate brings every component up to date. The schema that search_path names is
// made when it is missing and the role may.
func (s Schema) Migrate(ctx context.Context, db *DB) error {
	if err := s.claim(ctx, db); err != nil {
		return err
	}
	for _, c := range s.Components {
		if err := Migrate(ctx, db, c.Name, c.Files); err != nil {
			return err
		}
	}
	return nil
}

// owner marks the row of the service that a schema belongs to.
const owner = "service "

// claim makes the schema the service's own: tables of two services in one place
// would be taken for each other's.
func (s Schema) claim(ctx context.Context, db *DB) error {
	unlock, err := db.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if _, err := db.Write.ExecContext(ctx, compatibilityTable); err != nil {
		return err
	}
	var other string
	err = db.Write.QueryRowContext(ctx, `SELECT component FROM schema_compatibility WHERE component LIKE $1 AND component <> $2`,
		owner+"%", owner+s.Service).Scan(&other)
	switch {
	case err == nil:
		return fmt.Errorf("the database of %s holds the tables of %s; give each service a schema of its own (search_path) or a file of its own",
			s.Service, strings.TrimPrefix(other, owner))
	case !errors.Is(err, sql.ErrNoRows):
		return err
	}
	_, err = db.Write.ExecContext(ctx, `INSERT INTO schema_compatibility (component, version, oldest) VALUES ($1, 0, 0)
		ON CONFLICT (component) DO NOTHING`, owner+s.Service)
	return err
}

// Check tells whether a program may serve from the database as it is, and changes
// nothing: ErrBehind when migrations are missing, ErrNewer when a newer release
// has changed it in a way that this one cannot work with.
func (s Schema) Check(ctx context.Context, db *DB) error {
	var claimed int
	there, err := db.table(ctx, "schema_compatibility")
	if err == nil && there {
		err = db.Read.QueryRowContext(ctx, `SELECT COUNT(*) FROM schema_compatibility WHERE component = $1`, owner+s.Service).Scan(&claimed)
	}
	if err != nil {
		return err
	}
	if claimed == 0 {
		return ErrBehind
	}
	for _, c := range s.Components {
		if err := check(ctx, db, c); err != nil {
			return err
		}
	}
	return nil
}

func check(ctx context.Context, db *DB, c Component) error {
	known, err := newestOf(c.Files)
	if err != nil {
		return err
	}
	there, err := db.table(ctx, versionTable(c.Name))
	if err != nil {
		return err
	}
	var version sql.NullInt64
	if there {
		if err := db.Read.QueryRowContext(ctx, `SELECT MAX(version_id) FROM `+versionTable(c.Name)).Scan(&version); err != nil {
			return err
		}
	}
	switch {
	case version.Int64 < known:
		return fmt.Errorf("%s is at version %d, this release needs %d: %w", c.Name, version.Int64, known, ErrBehind)
	case version.Int64 > known:
		return admitted(ctx, db, c.Name, version.Int64, known)
	}
	return nil
}

// table tells whether the schema has a table.
func (db *DB) table(ctx context.Context, name string) (there bool, err error) {
	query := `SELECT to_regclass($1) IS NOT NULL`
	if db.Dialect == SQLite {
		query = `SELECT COUNT(*) > 0 FROM sqlite_master WHERE type = 'table' AND name = $1`
	}
	err = db.Read.QueryRowContext(ctx, query, name).Scan(&there)
	return there, err
}

// ensureSchema makes the first schema of search_path where it is missing. Tables
// would go to the next one otherwise, or nowhere.
func (db *DB) ensureSchema(ctx context.Context) error {
	var path, role string
	if err := db.Read.QueryRowContext(ctx, `SELECT current_setting('search_path'), current_user`).Scan(&path, &role); err != nil {
		return err
	}
	name, _, _ := strings.Cut(path, ",")
	name = strings.Trim(strings.TrimSpace(name), `"`)
	if name == "" || name == "$user" {
		return nil // the default: the schema of the role if there is one, else public
	}
	var there bool
	if err := db.Read.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM pg_namespace WHERE nspname = $1)`, name).Scan(&there); err != nil || there {
		return err
	}
	quoted := pgx.Identifier{name}.Sanitize()
	_, err := db.Write.ExecContext(ctx, `CREATE SCHEMA IF NOT EXISTS `+quoted)
	var refused *pgconn.PgError
	switch {
	case errors.As(err, &refused) && refused.Code == "42501": // insufficient privilege
		return fmt.Errorf("the schema %s does not exist and the role %s may not make it; let an administrator of the database run: CREATE SCHEMA %s AUTHORIZATION %s",
			name, role, quoted, pgx.Identifier{role}.Sanitize())
	case errors.As(err, &refused) && (refused.Code == "23505" || refused.Code == "42P06"): // another process was faster
		return nil
	}
	return err
}
