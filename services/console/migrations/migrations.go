// Package migrations holds the SQL of the console's own tables.
package migrations

import "embed"

// Files are goose migrations that run on SQLite and PostgreSQL.
//
//go:embed *.sql
var Files embed.FS
