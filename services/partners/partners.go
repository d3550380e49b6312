// Package partners is the persona that speaks with agents of other organisations: it
// knows them, and every call to one leaves through it.
package partners

import (
	"context"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/identity"
	"sabha.dev/chassis/service"
	"sabha.dev/services/partners/internal/finder"
	"sabha.dev/services/partners/internal/sqlstore"
	"sabha.dev/services/partners/migrations"
)

// Name is the service's name on the platform, and its tenant.
const Name = "partners"

// Config is what partners is told.
type Config struct {
	service.Config `yaml:",inline"`
	// Agreements is the folder of operating agreements, one file a partner; empty for none.
	Agreements string `yaml:"agreements"`
}

// New defines the service.
func New(c Config) service.Definition {
	return service.Definition{
		Name: Name, Config: c.Config, Migrations: migrations.Files,
		Build: func(ctx context.Context, b *service.Base) (*service.Persona, error) { return build(ctx, c, b) },
	}
}

func build(_ context.Context, _ Config, b *service.Base) (*service.Persona, error) {
	store := sqlstore.New(b.DB, b.Clock)
	return &service.Persona{
		Agent: agent.Agent{
			Tenant: Name, Name: "Partners", Version: b.Release,
			Description: "Agents of other organisations: finds them, and calls what the platform's agreement with each allows.",
			Skills:      []agent.Skill{finder.New(store)},
		},
		Policy: identity.Policy{},
	}, nil
}
