package sqldb

import (
	"strconv"
	"strings"
)

// Placeholders gives a statement in the form that its engine binds fastest. $1,
// $2, … are names to SQLite, each looked up in a list for every execution; where
// they stand in order, once each, they become plain question marks. Anything else,
// and PostgreSQL, keeps what was written.
func (db *DB) Placeholders(query string) string {
	if db.Dialect != SQLite {
		return query
	}
	var b strings.Builder
	rest := query
	for n := 1; ; n++ {
		i := strings.IndexByte(rest, '$')
		if i < 0 {
			b.WriteString(rest)
			return b.String()
		}
		name := strconv.Itoa(n)
		after := rest[i+1:]
		if !strings.HasPrefix(after, name) || (len(after) > len(name) && after[len(name)] >= '0' && after[len(name)] <= '9') {
			return query
		}
		b.WriteString(rest[:i])
		b.WriteByte('?')
		rest = after[len(name):]
	}
}
