// Package migrations holds the SQL of the tables of the executor, in goose format. The
// same files serve SQLite and PostgreSQL.
package migrations

import "embed"

// Files are the migrations in order.
//
//go:embed *.sql
var Files embed.FS
