//go:build slow

package processes

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestShippedConfigurationIsGood(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, "deploy", "config", "*.yaml"))
	if err != nil || len(files) != len(services) {
		t.Fatalf("%d files for %d services: %v", len(files), len(services), err)
	}
	for _, s := range services {
		if code, said := run(t, t.TempDir(), program(s), "check-config", "-config", shipped(t, s)); code != 0 || said != "configuration is good\n" {
			t.Errorf("%s: exit code %d: %s", s, code, said)
		}
	}
}

func TestWrongConfigurationIsRefusedWithWhatToDo(t *testing.T) {
	for _, c := range []struct {
		name string
		// edit of the shipped file of each of the services.
		services []string
		edit     func(text string) string
		want     string
	}{
		{
			"an unknown key", services,
			func(text string) string { return text + "colour: blue\n" },
			`line \d+: field colour not found`,
		},
		{
			"no keys", services,
			without("keys"), `keys is missing: the folder that sabha keys has made`,
		},
		{
			"no database",
			[]string{"security", "planner", "memory", "executor", "research", "validator", "review", "partners", "gateway"},
			without("database"), `database is missing: sqlite:PATH or postgres://`,
		},
		{
			"no NATS",
			[]string{"security", "planner", "memory", "executor", "research", "validator", "review", "partners"},
			without("nats"), `nats is missing: for example nats://127\.0\.0\.1:4222`,
		},
		{
			"no port",
			[]string{"security", "planner", "memory", "executor", "research", "validator", "review", "partners"},
			without("grpc"), `grpc is missing: the address to serve, for example :9100`,
		},
		{
			"no public port",
			[]string{"gateway"},
			without("public_http"), `public_http is missing: the address to serve HTTP, for example :8080`,
		},
		{
			"no planner behind the gateway",
			[]string{"gateway"},
			without("  planner"), `peers\.planner is missing: the gRPC address of planner`,
		},
		{
			"not YAML", services,
			func(text string) string { return text + "\t{\n" }, `line \d+`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := regexp.MustCompile(c.want)
			for _, s := range c.services {
				text, err := os.ReadFile(shipped(t, s))
				if err != nil {
					t.Fatal(err)
				}
				edited := c.edit(string(text))
				if edited == string(text) {
					t.Fatalf("the configuration of %s has nothing to edit", s)
				}
				file := filepath.Join(t.TempDir(), s+".yaml")
				if err := os.WriteFile(file, []byte(edited), 0o600); err != nil {
					t.Fatal(err)
				}
				for _, command := range []string{"check-config", "serve"} {
					code, said := run(t, t.TempDir(), program(s), command, "-config", file)
					if code != 2 || !strings.HasPrefix(said, "configuration: "+file) || !want.MatchString(said) {
						t.Errorf("%s %s: exit code %d: %s\nwant …%s…", s, command, code, said, want)
					}
				}
			}
		})
	}
	for _, s := range services {
		if code, said := run(t, t.TempDir(), program(s), "check-config", "-config", "nowhere.yaml"); code != 2 || !strings.Contains(said, "nowhere.yaml: no such file") {
			t.Errorf("%s without its file: exit code %d: %s", s, code, said)
		}
	}
}

// without takes the line of a key out of a text.
func without(key string) func(string) string {
	return func(text string) string {
		var kept []string
		for line := range strings.SplitSeq(text, "\n") {
			if !strings.HasPrefix(line, key+":") {
				kept = append(kept, line)
			}
		}
		return strings.Join(kept, "\n")
	}
}
