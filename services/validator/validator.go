// Package validator is the persona that judges answers: whether the passages
// that they cite say what they claim, whether data keeps its schema and rules,
// and whether the numbers add up.
package validator

import (
	"context"
	"fmt"
	"os"

	"sabha.dev/chassis/service"

	"sabha.dev/services/validator/internal/a2aagent"
	"sabha.dev/services/validator/internal/judgement"
)

// Name is the service's name on the platform, and its tenant.
const Name = "validator"

// Config is what the validator is told.
type Config struct {
	service.Config `yaml:",inline"`
	// Policy is the file with the thresholds by product and risk; empty for one
	// threshold of 0.7.
	Policy string `yaml:"policy"`
}

// New defines the service. The policy file is read when the service is built,
// so a fault in it fails the start with its line.
func New(c Config) service.Definition {
	return service.Definition{
		Name:   Name,
		Config: c.Config,
		Build: func(_ context.Context, b *service.Base) (*service.Persona, error) {
			return build(c, b)
		},
	}
}

func build(c Config, b *service.Base) (*service.Persona, error) {
	policy := judgement.DefaultPolicy()
	if c.Policy != "" {
		raw, err := os.ReadFile(c.Policy)
		if err != nil {
			return nil, fmt.Errorf("policy: %w", err)
		}
		if policy, err = judgement.ParsePolicy(raw); err != nil {
			return nil, fmt.Errorf("%s: %w", c.Policy, err)
		}
	}
	judge, err := judgement.NewJudge(policy, b.Clock)
	if err != nil {
		return nil, err
	}
	return &service.Persona{Agent: a2aagent.New(judge, b.Release)}, nil
}

// Run is the service's command with its arguments; it returns the exit code.
func Run(args []string) int {
	return service.Main(args, New)
}
