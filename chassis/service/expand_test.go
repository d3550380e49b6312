package service_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sabha.dev/chassis/service"
)

func TestAConfigurationTakesVariablesFromTheEnvironment(t *testing.T) {
	t.Setenv("SABHA_TEST_HOST", "planner.internal")
	t.Setenv("SABHA_TEST_EMPTY", "")
	for _, c := range []struct{ text, grpc, err string }{
		{text: "grpc: ${SABHA_TEST_HOST}:9102\n", grpc: "planner.internal:9102"},
		{text: "grpc: \"${SABHA_TEST_EMPTY}:9102\"\n", grpc: ":9102"},
		{text: "grpc: $HOME:9102\n", grpc: "$HOME:9102"},
		{text: "# ${SABHA_TEST_NOWHERE}\ngrpc: x\n", grpc: "x"},
		{text: "http: \":1\"\ngrpc: ${SABHA_TEST_NOWHERE}\n", err: "line 2: the environment variable SABHA_TEST_NOWHERE is not set"},
		{text: "grpc: ${SABHA_TEST_HOST}\nport: 1\n", err: "line 2: field port not found"},
		{text: "grpc: x\npush:\n  disclosure:\n    default: hide\n", err: `disclosure:4: default: "hide" is unknown`},
	} {
		file := filepath.Join(t.TempDir(), "config.yaml")
		if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		var got service.Config
		err := service.Load(file, &got)
		if (c.err == "") != (err == nil) || (err != nil && !strings.Contains(err.Error(), c.err)) || (err == nil && got.GRPC != c.grpc) {
			t.Errorf("%q: %q, %v; want %q, %q", c.text, got.GRPC, err, c.grpc, c.err)
		}
	}
}
