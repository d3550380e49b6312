// Package review is the persona that makes people an agent: a review is a task
// delegated to it, and it ends when somebody has decided.
package review

import (
	"context"

	"sabha.dev/chassis/service"
	"sabha.dev/services/review/internal/a2aagent"
	"sabha.dev/services/review/migrations"
)

// Name is the service's name on the platform, and its tenant.
const Name = "review"

// Config is what the review agent is told.
type Config struct {
	service.Config `yaml:",inline"`
	// Policy is the file that says which group decides on what and until when; empty
	// for one queue that every reviewer serves.
	Policy string `yaml:"policy"`
}

// New defines the service. The policy file is read when the service is built, so a
// fault in it fails the start with its line.
func New(c Config) service.Definition {
	return service.Definition{
		Name: Name, Config: c.Config, Migrations: migrations.Files,
		Build: func(_ context.Context, b *service.Base) (*service.Persona, error) {
			return build(c, b)
		},
	}
}

func build(_ Config, b *service.Base) (*service.Persona, error) {
	return &service.Persona{Agent: a2aagent.New(b.Release)}, nil
}
