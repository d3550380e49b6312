package arch

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// takesAway matches statements that an older program may notice: it loses something,
// or may no longer write what it writes.
var takesAway = regexp.MustCompile(`(?is)\bDROP\b|\bRENAME\b|\bALTER\s+COLUMN\b|\bADD\s+CONSTRAINT\b|\bCREATE\s+UNIQUE\b|\bCREATE\s+TRIGGER\b|\bADD\s+(?:COLUMN\s+)?\w+\s+[^,;]*\bNOT\s+NULL\b`)

var (
	oldestLine  = regexp.MustCompile(`(?m)^-- oldest: \d+$`)
	withDefault = regexp.MustCompile(`(?is)\bNOT\s+NULL\s+DEFAULT\b|\bDEFAULT\s+[^,;]*\bNOT\s+NULL\b`)
	sqlComment  = regexp.MustCompile(`--[^\n]*`)
)

// unadmitted tells what in a migration needs a statement of the oldest release that
// may run beside it, and has none.
func unadmitted(text string) string {
	if oldestLine.MatchString(text) {
		return ""
	}
	up, _, _ := strings.Cut(text, "-- +goose Down")
	for statement := range strings.SplitSeq(sqlComment.ReplaceAllString(up, ""), ";") {
		if found := takesAway.FindString(statement); found != "" && !withDefault.MatchString(statement) {
			return strings.Join(strings.Fields(found), " ")
		}
	}
	return ""
}

func TestMigrationsAdmitOlderReleases(t *testing.T) {
	files := 0
	for _, pattern := range []string{"chassis/*/migrations/*.sql", "services/*/migrations/*.sql"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range found {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			files++
			if what := unadmitted(string(text)); what != "" {
				t.Errorf("%s: %q may break the release that runs beside it; see CONTRIBUTING, How to add a migration", name, what)
			}
		}
	}
	if files < 6 {
		t.Errorf("only %d migrations were found", files)
	}
}

func TestWhatAMigrationTakesAwayIsFound(t *testing.T) {
	for text, refused := range map[string]bool{
		"CREATE TABLE t (a BIGINT NOT NULL);":                                                     false,
		"CREATE INDEX i ON t (a);":                                                                false,
		"ALTER TABLE t ADD COLUMN b TEXT;":                                                        false,
		"ALTER TABLE t ADD COLUMN b TEXT NOT NULL DEFAULT '';":                                    false,
		"CREATE TABLE t (a BIGINT);\n-- +goose Down\nDROP TABLE t;":                               false,
		"-- what one may drop later\nSELECT 1;":                                                   false,
		"-- oldest: 3\nALTER TABLE t DROP COLUMN b;":                                              false,
		"ALTER TABLE t ADD COLUMN b TEXT NOT NULL;":                                               true,
		"ALTER TABLE t DROP COLUMN b;":                                                            true,
		"ALTER TABLE t RENAME COLUMN b TO c;":                                                     true,
		"CREATE UNIQUE INDEX i ON t (a);":                                                         true,
		"SELECT 1;\ndrop table t;":                                                                true,
		"ALTER TABLE t ADD COLUMN b TEXT DEFAULT '';\nALTER TABLE t ALTER COLUMN b SET NOT NULL;": true,
	} {
		if got := unadmitted("-- +goose Up\n" + text); (got != "") != refused {
			t.Errorf("%s\nfound %q, want something: %v", text, got, refused)
		}
	}
}
