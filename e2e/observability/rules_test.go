package observability_test

import (
	"os/exec"
	"testing"

	"sabha.dev/testrig/leftout"
)

// configuration of the compose profile.
const configuration = "../../deploy/compose/observability"

const install = "apt-get install prometheus"

func TestTheConfigurationOfPrometheusIsGood(t *testing.T) {
	promtool := leftout.Program(t, "promtool", install)
	for _, args := range [][]string{
		{"check", "config", "prometheus.yaml"}, {"check", "rules", "rules/sabha.yaml"}, {"test", "rules", "rules_test.yaml"},
	} {
		cmd := exec.CommandContext(t.Context(), promtool, args...)
		cmd.Dir = configuration
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %v: %v\n%s", args, err, out)
		}
	}
}
