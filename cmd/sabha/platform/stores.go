package platform

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"

	"github.com/nats-io/nats.go"

	"sabha.dev/chassis/service"
	"sabha.dev/chassis/sqldb"
)

// config of a service in this process: where it keeps its data, and NATS if that is
// a server of its own.
func (p *Platform) config(name string) service.Config {
	return service.Config{NATS: p.options.NATS, Database: p.Database(name), Push: service.Push{Allow: p.options.PushAllow}, OTLP: p.options.OTLP, TraceRatio: p.options.TraceRatio}
}

// Database is the URL of a service's database.
func (p *Platform) Database(name string) string {
	if p.options.Database != "" {
		return withSchema(p.options.Database, name)
	}
	sync := p.options.Sync
	if sync == "" {
		sync = "full"
	}
	return "sqlite:" + filepath.Join(p.options.Data, name+".db") + "?sync=" + sync
}

// withSchema is a PostgreSQL URL with the schema of a service as its search path.
func withSchema(rawURL, service string) string {
	u, err := url.Parse(rawURL)
	if err != nil {
		return rawURL // Check has refused it
	}
	q := u.Query()
	q.Set("search_path", service)
	u.RawQuery = q.Encode()
	return u.String()
}

// checkDatabase tells what is wrong with the URL of a database for all services.
func checkDatabase(rawURL string) error {
	if rawURL == "" {
		return nil
	}
	u, err := url.Parse(rawURL)
	switch {
	case err != nil: // it may hold a password, so it is not repeated
		return errors.New("the database is no URL; want postgres://user@host/database")
	case u.Scheme != "postgres" && u.Scheme != "postgresql":
		return fmt.Errorf("the database must be postgres://user@host/database, not %s:; SQLite needs no URL, only a data folder", u.Scheme)
	case u.Query().Has("search_path"):
		return errors.New("the database URL has a search_path; leave it out: each service has a schema of its own name")
	}
	return nil
}

// makeSchemas makes the schema of each service that has none yet.
func (p *Platform) makeSchemas(ctx context.Context, services []string) error {
	if p.options.Database == "" {
		return nil
	}
	db, err := sqldb.Open(ctx, p.options.Database)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	for _, s := range services {
		var there bool
		if err := db.Read.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM information_schema.schemata WHERE schema_name = $1)", s).Scan(&there); err != nil {
			return fmt.Errorf("schema of %s: %w", s, err)
		}
		if there {
			continue
		}
		if _, err := db.Write.ExecContext(ctx, fmt.Sprintf(`CREATE SCHEMA IF NOT EXISTS "%s"`, s)); err != nil {
			return fmt.Errorf("schema of %s: %w; let this role make schemas, or make it beforehand", s, err)
		}
	}
	return nil
}

// NATS connects to the server of the services, as tests and programs beside them do.
func (p *Platform) NATS(name string) (*nats.Conn, error) {
	if p.nats == nil {
		return nats.Connect(p.options.NATS, nats.Name(name))
	}
	return p.nats.connect(name)
}
