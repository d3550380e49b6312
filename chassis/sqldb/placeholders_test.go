package sqldb_test

import (
	"testing"

	"sabha.dev/chassis/sqldb"
)

func TestPlaceholders(t *testing.T) {
	sqlite, postgres := &sqldb.DB{Dialect: sqldb.SQLite}, &sqldb.DB{Dialect: sqldb.Postgres}
	for query, want := range map[string]string{
		"SELECT 1":                                  "SELECT 1",
		"INSERT INTO t VALUES ($1,$2)":              "INSERT INTO t VALUES (?,?)",
		"UPDATE t SET a=$1 WHERE b=$2 AND c=$3":     "UPDATE t SET a=? WHERE b=? AND c=?",
		"SELECT $2, $1":                             "SELECT $2, $1",
		"SELECT $1, $1":                             "SELECT $1, $1",
		"SELECT $1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11": "SELECT ?,?,?,?,?,?,?,?,?,?,?",
		"SELECT $1 || '$'":                          "SELECT $1 || '$'",
		"SELECT $12":                                "SELECT $12",
	} {
		if got := sqlite.Placeholders(query); got != want {
			t.Errorf("SQLite: %s became %s, want %s", query, got, want)
		}
		if got := postgres.Placeholders(query); got != query {
			t.Errorf("PostgreSQL: %s became %s", query, got)
		}
	}
}
