package planner

import (
	"time"

	"sabha.dev/chassis/service"
	"sabha.dev/services/planner/internal/plan"
)

// NewOnLine is New with another time for which a step is waited for.
func NewOnLine(c Config, wait time.Duration) service.Definition {
	return define(c, func(p *plan.Planner) { p.OnLine = wait })
}
