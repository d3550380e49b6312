package secured

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sabha.dev/chassis/certs"
	"sabha.dev/chassis/sqldb"
	"sabha.dev/testrig/leftout"
	"sabha.dev/testrig/postgrestest"
)

func (d *deployment) forbiddenInPostgreSQL(t *testing.T) {
	db, err := sqldb.Open(t.Context(), d.database("research", "research", "research"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	for statement, want := range map[string]string{
		"SELECT count(*) FROM planner.tasks":         "permission denied for schema planner",
		"INSERT INTO planner.tasks (id) VALUES ('')": "permission denied for schema planner",
		"CREATE TABLE public.x (y int)":              "permission denied for schema public",
		"CREATE SCHEMA other":                        "permission denied for database sabha",
		"SET ROLE planner":                           `permission denied to set role "planner"`,
		"CREATE ROLE other":                          "permission denied to create role",
		"SELECT pg_read_file('/etc/passwd')":         "permission denied for function pg_read_file",
	} {
		if _, err := db.Write.ExecContext(t.Context(), statement); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", statement, err, want)
		}
	}
	for url, want := range map[string]string{
		d.database("planner", "planner", "research"):                                                 `certificate authentication failed for user "planner"`,
		d.database("postgres", "planner", "research"):                                                "pg_hba.conf rejects connection",
		strings.Replace(d.database("research", "research", "research"), "verify-full", "disable", 1): "no pg_hba.conf entry",
		"postgres://research@" + d.postgres.Address + "/sabha?sslmode=require":                       "connection requires a valid client certificate",
	} {
		other, err := sqldb.Open(t.Context(), url)
		if err == nil {
			_ = other.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", url, err, want)
		}
	}
}

func TestAPasswordMayComeFromAFile(t *testing.T) {
	d := &deployment{certs: t.TempDir()}
	if _, err := certs.Issue(d.certs, certs.Order{Services: []string{"postgres", "planner"}, Lifetime: time.Hour}, time.Now()); err != nil {
		t.Fatal(err)
	}
	var err error
	d.postgres, err = postgrestest.RunSecured(filepath.Join(d.certs, "postgres"), "local all all trust\nhostssl all all all scram-sha-256\n")
	if errors.Is(err, postgrestest.ErrMissing) {
		leftout.Because(t, err.Error())
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.postgres.Close() }()
	if err := d.postgres.Create(t.Context(), "sabha", "CREATE ROLE planner LOGIN PASSWORD 'a:secret'; CREATE SCHEMA planner AUTHORIZATION planner"); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(file, []byte("*:*:*:planner:a\\:secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	url := "postgres://planner@" + d.postgres.Address + "/sabha?search_path=planner&sslmode=verify-full&sslrootcert=" + filepath.Join(d.certs, "ca.crt")
	db, err := sqldb.Open(t.Context(), url+"&passfile="+file)
	if err != nil {
		t.Fatal(err)
	}
	_ = db.Close()
	if db, err = sqldb.Open(t.Context(), url+"&passfile="); err == nil {
		_ = db.Close()
		t.Error("PostgreSQL let planner in without a password")
	}
}
