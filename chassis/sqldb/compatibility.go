package sqldb

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// What a release states about its schema, for programs that do not know its
// migrations: version is the newest migration, oldest the newest migration that a
// program must know to run beside it. One row a component.
const compatibilityTable = `CREATE TABLE IF NOT EXISTS schema_compatibility (
	component TEXT   NOT NULL PRIMARY KEY,
	version   BIGINT NOT NULL,
	oldest    BIGINT NOT NULL
)`

func versionTable(component string) string { return "goose_" + component }

// state records what the files say about older programs.
func state(ctx context.Context, db *DB, component string, fsys fs.FS, version int64) error {
	oldest, err := oldestOf(fsys)
	if err != nil {
		return err
	}
	if _, err := db.Write.ExecContext(ctx, compatibilityTable); err != nil {
		return err
	}
	_, err = db.Write.ExecContext(ctx, `INSERT INTO schema_compatibility (component, version, oldest) VALUES ($1, $2, $3)
		ON CONFLICT (component) DO UPDATE SET version = excluded.version, oldest = excluded.oldest
		WHERE schema_compatibility.version < excluded.version`, component, version, oldest)
	return err
}

// admitted tells whether a program that knows the migrations up to known may use
// tables at version: nil or ErrNewer.
func admitted(ctx context.Context, db *DB, component string, version, known int64) error {
	var stated, oldest int64
	err := db.Write.QueryRowContext(ctx, `SELECT version, oldest FROM schema_compatibility WHERE component = $1`, component).Scan(&stated, &oldest)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("%s: %w", component, err)
	}
	if err == nil && stated >= version && known >= oldest {
		return nil
	}
	return fmt.Errorf("%s is at version %d, this release knows %d: %w", component, version, known, ErrNewer)
}

// oldestLine states the newest migration that a program must know to work beside
// the migration that holds the line. Without it a migration only adds.
const oldestLine = "-- oldest:"

// oldestOf is the highest statement of all files; 0 admits every program.
func oldestOf(fsys fs.FS) (int64, error) {
	files, err := fs.Glob(fsys, "*.sql")
	if err != nil {
		return 0, err
	}
	var oldest int64
	for _, name := range files {
		text, err := fs.ReadFile(fsys, name)
		if err != nil {
			return 0, err
		}
		for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
			value, found := strings.CutPrefix(lines.Text(), oldestLine)
			if !found {
				continue
			}
			n, err := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
			if err != nil {
				return 0, fmt.Errorf("%s: %q does not state the number of a migration", name, lines.Text())
			}
			oldest = max(oldest, n)
		}
	}
	return oldest, nil
}

// newestOf is the number of the newest file.
func newestOf(fsys fs.FS) (int64, error) {
	files, err := fs.Glob(fsys, "*.sql")
	if err != nil {
		return 0, err
	}
	var newest int64
	for _, name := range files {
		number, _, _ := strings.Cut(path.Base(name), "_")
		n, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("migration %s has no number", name)
		}
		newest = max(newest, n)
	}
	return newest, nil
}
