// Package memory is the persona that remembers for a caller, recalls and forgets.
package memory

import (
	"context"
	"strings"

	"sabha.dev/chassis/service"
	"sabha.dev/services/memory/internal/a2aagent"
	"sabha.dev/services/memory/internal/memory"
	"sabha.dev/services/memory/internal/sqlstore"
	"sabha.dev/services/memory/migrations"
)

// Name of the service and its tenant.
const Name = "memory"

// Config of the memory.
type Config struct {
	service.Config `yaml:",inline"`
	// ContextTokens is how many tokens, of four bytes each, the memories of one context may
	// have together; the oldest go first. 0 for no bound.
	ContextTokens int `yaml:"context_tokens"`
}

// New defines the service. Nothing is started yet.
func New(c Config) service.Definition {
	c.Database = scrubbed(c.Database)
	return service.Definition{Name: Name, Config: c.Config, Migrations: migrations.Files, Build: c.build}
}

// scrubbed asks SQLite to overwrite what is deleted: forgotten means gone.
func scrubbed(database string) string {
	if database == "" || strings.HasPrefix(database, "postgres") {
		return database
	}
	separator := "?"
	if strings.Contains(database, "?") {
		separator = "&"
	}
	return database + separator + "secure_delete=on"
}

func (c Config) build(ctx context.Context, b *service.Base) (*service.Persona, error) {
	store, err := sqlstore.New(ctx, b.DB)
	if err != nil {
		return nil, err
	}
	keeper := memory.NewKeeper(store, c.ContextTokens, b.Clock, b.Log)
	sweeping, stop := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		keeper.Run(sweeping)
	}()
	return &service.Persona{
		Agent: a2aagent.New(keeper, b.Release),
		Close: func() error { stop(); <-ended; return nil },
	}, nil
}
