//go:build slow

package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sabha.dev/chassis/service"
	"sabha.dev/e2e/chaos/fleet"
	"sabha.dev/e2e/chaos/ledger"
	"sabha.dev/testrig/leftout"
	"sabha.dev/testrig/postgrestest"
)

const repository = "../.."

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == agent { // the deployment starts this program as its agent
		os.Exit(service.Main(os.Args[1:], ledger.New))
	}
	os.Exit(m.Run())
}

// build builds the programs of the deployment.
func build(t *testing.T) (bin string) {
	t.Helper()
	bin = t.TempDir()
	services := []string{"build", "-o", bin + "/"}
	for _, s := range fleet.Services {
		services = append(services, "./services/"+s+"/cmd/"+s)
	}
	for _, c := range []struct {
		dir  string
		env  []string
		args []string
	}{
		{repository, nil, services},
		{filepath.Join(repository, "tools"), []string{"GOWORK=off"}, []string{"build", "-o", filepath.Join(bin, "nats-server"), "github.com/nats-io/nats-server/v2"}},
	} {
		cmd := exec.CommandContext(t.Context(), "go", c.args...)
		cmd.Dir, cmd.Env = c.dir, append(append(os.Environ(), "CGO_ENABLED=0"), c.env...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	return bin
}

func TestNothingIsLostWhileEveryKindOfProcessIsKilled(t *testing.T) {
	var out bytes.Buffer
	good, err := chaos(t.Context(), options{
		plans: 40, seed: 1, bin: build(t), root: repository, keep: t.TempDir(), incidents: "few", out: &out,
	})
	if errors.Is(err, postgrestest.ErrMissing) {
		leftout.Because(t, err.Error())
	}
	t.Logf("%s", &out)
	if err != nil || !good {
		t.Errorf("good %v, %v", good, err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	const want = "accepted 40, terminal 40, lost 0, steps repeated 0, gaps 0, webhooks missing 0"
	if last := lines[len(lines)-1]; last != want {
		t.Errorf("the last line is %q, want %q", last, want)
	}
}
