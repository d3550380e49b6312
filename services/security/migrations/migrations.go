// Package migrations holds the tables of the security service.
package migrations

import "embed"

// Files are the goose migrations in order.
//
//go:embed *.sql
var Files embed.FS
