//go:build compose

package compose

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
)

// inspected is what docker knows of a container, as far as it is looked at here.
type inspected struct {
	Name   string
	Config struct {
		User   string
		Env    []string
		Labels map[string]string
	}
	HostConfig struct {
		ReadonlyRootfs bool
		CapDrop        []string
		CapAdd         []string
		SecurityOpt    []string
		Privileged     bool
		Memory         int64
		NanoCpus       int64
		PidsLimit      int64
		LogConfig      struct{ Config map[string]string }
		RestartPolicy  struct{ Name string }
	}
	State struct {
		Status   string
		ExitCode int
		Health   *struct{ Status string }
	}
	NetworkSettings struct {
		Ports map[string][]struct{ HostIP, HostPort string } `json:"Ports"`
	}
}

func (c inspected) service() string { return c.Config.Labels["com.docker.compose.service"] }

func containers(t *testing.T) []inspected {
	t.Helper()
	ids := strings.Fields(do(t, "ps", "--all", "--quiet", "--filter", "label=com.docker.compose.project="+os.Getenv("COMPOSE_PROJECT_NAME"), "--filter", "label=com.docker.compose.oneoff=False"))
	var all []inspected
	if err := json.Unmarshal([]byte(do(t, append([]string{"inspect"}, ids...)...)), &all); err != nil {
		t.Fatal(err)
	}
	return all
}

func TestReplicasRunAndJobsHaveEnded(t *testing.T) {
	running, ended := map[string]int{}, map[string]int{}
	for _, c := range containers(t) {
		if name, job := strings.CutSuffix(c.service(), "-migrate"); job {
			if c.State.Status != "exited" || c.State.ExitCode != 0 {
				t.Errorf("%s is %s (%d)", c.Name, c.State.Status, c.State.ExitCode)
			}
			ended[name]++
			continue
		}
		if c.State.Health == nil || c.State.Health.Status != "healthy" {
			t.Errorf("%s is %s, %v", c.Name, c.State.Status, c.State.Health)
		}
		running[c.service()]++
	}
	for service, want := range map[string]int{
		"gateway": 2, "security": 2, "planner": 2, "memory": 2, "executor": 2, "research": 2, "validator": 2, "review": 2, "partners": 2,
		"console": 1, "postgres": 1, "nats-1": 1, "nats-2": 1, "nats-3": 1,
	} {
		if running[service] != want {
			t.Errorf("%s has %d replicas, want %d", service, running[service], want)
		}
		if want == 2 && ended[service] != 1 {
			t.Errorf("%s was migrated by %d jobs, want 1", service, ended[service])
		}
	}
}

func TestContainersAreConfined(t *testing.T) {
	for _, c := range containers(t) {
		h := c.HostConfig
		if user, _, _ := strings.Cut(c.Config.User, ":"); user == "" || user == "0" || user == "root" {
			t.Errorf("%s runs as %q", c.Name, c.Config.User)
		}
		if !h.ReadonlyRootfs || h.Privileged || !slices.Equal(h.CapDrop, []string{"ALL"}) || len(h.CapAdd) != 0 || !slices.Contains(h.SecurityOpt, "no-new-privileges:true") {
			t.Errorf("%s is not confined: %+v", c.Name, h)
		}
		if h.Memory == 0 || h.NanoCpus == 0 || h.PidsLimit == 0 {
			t.Errorf("%s has no limits: memory %d, cpus %d, processes %d", c.Name, h.Memory, h.NanoCpus, h.PidsLimit)
		}
		if h.LogConfig.Config["max-size"] == "" || h.LogConfig.Config["max-file"] == "" {
			t.Errorf("the log of %s grows without end", c.Name)
		}
		for _, e := range c.Config.Env {
			if name, _, _ := strings.Cut(e, "="); strings.Contains(name, "PASSWORD") || strings.Contains(name, "KEY") || strings.Contains(name, "TOKEN") {
				t.Errorf("%s has the secret %s in its environment", c.Name, name)
			}
		}
	}
}

func TestOnlyTheGatewaysAndTheConsoleArePublished(t *testing.T) {
	for _, c := range containers(t) {
		for port, bindings := range c.NetworkSettings.Ports {
			for _, b := range bindings {
				if service := c.service(); b.HostIP != "127.0.0.1" || (service != "gateway" && service != "console") {
					t.Errorf("%s publishes %s on %s:%s", c.Name, port, b.HostIP, b.HostPort)
				}
			}
		}
	}
}
