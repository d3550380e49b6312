// Package research is the persona that finds: it ingests documents and answers
// questions with passages of them, over A2A and over MCP.
package research

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"sabha.dev/chassis/clock"
	"sabha.dev/chassis/service"
	"sabha.dev/chassis/sqldb"
	"sabha.dev/services/research/internal/a2aagent"
	"sabha.dev/services/research/internal/embed"
	"sabha.dev/services/research/internal/ingest"
	"sabha.dev/services/research/internal/library"
	"sabha.dev/services/research/internal/mcpserver"
	"sabha.dev/services/research/internal/retrieval"
	"sabha.dev/services/research/internal/sqlstore"
	"sabha.dev/services/research/migrations"
)

// Name of the service and its tenant.
const Name = "research"

// MCPPath is where the service's HTTP port serves MCP.
const MCPPath = "/mcp"

// defaultCollection is searched when the configuration names none.
const defaultCollection = "documents"

// Config of research.
type Config struct {
	service.Config `yaml:",inline"`
	// Documents is a folder that is ingested before the service serves; empty
	// for none, and then what was ingested before is searched.
	Documents string `yaml:"documents"`
	// Watch is how often the folder is looked at for changes while the service
	// serves; 0 for never.
	Watch time.Duration `yaml:"watch"`
	// Collection that is filled and searched; default "documents".
	Collection string `yaml:"collection"`
	// Embeddings is a model elsewhere that makes the vectors; without one the built-in
	// embedder does.
	Embeddings Embeddings `yaml:"embeddings"`
}

// Embeddings names a model behind the OpenAI embeddings API. The zero value is the
// built-in embedder.
type Embeddings = embed.Config

// Report says what became of every file of a folder.
type Report = ingest.Report

// New defines the service. Nothing is started yet. A documents folder that
// cannot be read fails the start; files in it that cannot are logged by name.
func New(c Config) service.Definition {
	return service.Definition{
		Name: Name, Config: c.Config, Migrations: migrations.Files,
		Build: func(ctx context.Context, b *service.Base) (*service.Persona, error) { return build(ctx, c, b) },
	}
}

func build(ctx context.Context, c Config, b *service.Base) (*service.Persona, error) {
	embedder, err := c.Embeddings.Open(b.Outlets)
	if err != nil {
		return nil, err
	}
	if c.Watch < 0 || (c.Watch > 0 && c.Documents == "") {
		return nil, errors.New("watch: give a positive period and the folder to watch (documents)")
	}
	store := sqlstore.New(b.DB, b.Clock)
	in := ingest.New(store, embedder)
	if c.Documents != "" {
		report, err := in.Folder(ctx, c.collection(), c.Documents)
		if err != nil {
			return nil, err
		}
		tell(b, c.Documents, report)
	}
	engine := retrieval.New(store, embedder, c.collection())
	mcp, err := mcpserver.New(engine, b.Release, b.Log)
	if err != nil {
		return nil, err
	}
	going, stop := context.WithCancel(context.WithoutCancel(ctx))
	var work sync.WaitGroup
	work.Go(func() { keepVectors(going, b, store, embedder, c.collection()) })
	if c.Watch > 0 {
		work.Go(func() { watch(going, c, b, in) })
	}
	return &service.Persona{
		Agent: a2aagent.WithLibrary(a2aagent.New(engine, b.Release), collection{store, c.collection()}, engine),
		HTTP:  map[string]http.Handler{MCPPath: mcp},
		Close: func() error {
			stop()
			work.Wait()
			return nil
		},
	}, nil
}

// watch takes up what changes in the folder.
func watch(ctx context.Context, c Config, b *service.Base, in *ingest.Ingester) {
	in.Watch(ctx, b.Clock, c.Watch, c.collection(), c.Documents, func(r Report, err error) {
		if err != nil {
			b.Log.Error("documents folder not read", "folder", c.Documents, "cause", err)
			return
		}
		tell(b, c.Documents, r)
	})
}

func tell(b *service.Base, folder string, report Report) {
	b.Log.Info("documents ingested", "folder", folder, "ingested", len(report.Ingested), "passages", report.Chunks,
		"unchanged", report.Unchanged, "skipped", len(report.Skipped), "removed", len(report.Removed))
	if report.Away != nil {
		b.Log.Warn("documents wait for vectors; they are found by their words", "cause", report.Away)
	}
	for _, s := range report.Skipped {
		b.Log.Warn("document skipped", "document", s.Name, "reason", s.Reason)
	}
}

// lookAgain is how often documents without vectors of the embedder in use are looked for.
const lookAgain = time.Minute

// keepVectors makes the vectors that documents lack: of those that were ingested while the
// embedder was away, and of all after another one was configured.
func keepVectors(ctx context.Context, b *service.Base, store *sqlstore.Store, embedder embed.Embedder, collection string) {
	for {
		made, err := ingest.Vectors(ctx, store, embedder, collection)
		if made > 0 {
			b.Log.Info("vectors made", "documents", made, "embedding", embedder.Name())
		}
		if err != nil && ctx.Err() == nil {
			b.Log.Warn("documents wait for vectors; they are found by their words", "cause", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-b.Clock.After(lookAgain):
		}
	}
}

// Ingest brings a folder into the configured collection and reports what
// became of each file. It works on the database, beside a running service or
// without one: a running one finds the change with its next search, and makes the
// vectors anew where it has another embedder.
func Ingest(ctx context.Context, c Config, dir string) (Report, error) {
	db, err := sqldb.Open(ctx, c.Database)
	if err != nil {
		return Report{}, fmt.Errorf("research: %w", err)
	}
	defer func() { _ = db.Close() }()
	if err := sqldb.Migrate(ctx, db, Name, migrations.Files); err != nil {
		return Report{}, fmt.Errorf("research: %w", err)
	}
	return ingest.New(sqlstore.New(db, clock.System{}), embed.Builtin{}).Folder(ctx, c.collection(), dir)
}

func (c Config) collection() string {
	if c.Collection == "" {
		return defaultCollection
	}
	return c.Collection
}

// collection is the documents that are searched.
type collection struct {
	store *sqlstore.Store
	name  string
}

// Document implements a2aagent.Library.
func (c collection) Document(ctx context.Context, name string) (*library.Document, error) {
	return c.store.Document(ctx, c.name, name)
}

// Changes implements a2aagent.Library.
func (c collection) Changes(ctx context.Context, after library.Cursor, limit int) ([]library.Change, error) {
	return c.store.ListChanges(ctx, c.name, after, limit)
}
