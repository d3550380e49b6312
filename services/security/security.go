// Package security is the persona that screens what comes into the platform:
// messages, follow-ups and replies are judged before any agent acts on them.
package security

import (
	"context"

	"sabha.dev/chassis/service"

	"sabha.dev/services/security/internal/a2aagent"
	"sabha.dev/services/security/internal/finding"
	"sabha.dev/services/security/internal/screening"
	"sabha.dev/services/security/internal/sqlstore"
	"sabha.dev/services/security/migrations"
)

// Name is the service's name on the platform, and its tenant.
const Name = "security"

// Config is what security is told.
type Config struct {
	service.Config `yaml:",inline"`
}

// New defines the service.
func New(c Config) service.Definition {
	return service.Definition{Name: Name, Config: c.Config, Migrations: migrations.Files, Build: build}
}

func build(_ context.Context, b *service.Base) (*service.Persona, error) {
	screener, err := screening.New()
	if err != nil {
		return nil, err
	}
	journal := finding.NewJournal(sqlstore.New(b.DB), b.Clock, b.Log)
	return &service.Persona{
		Unscreened: true, // it would ask itself
		Agent:      a2aagent.New(screener, journal, b.Clock, b.Release),
		Close:      journal.Close,
	}, nil
}

// Run is the service's command with its arguments; it returns the exit code.
func Run(args []string) int {
	return service.Main(args, New)
}
