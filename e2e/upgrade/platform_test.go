//go:build slow

package upgrade

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"sabha.dev/chassis/identity"
	"sabha.dev/testrig/freeport"
	"sabha.dev/testrig/natstest"
	"sabha.dev/testrig/postgrestest"
)

// within bounds every wait.
const within = 5 * time.Minute

// ports of one replica.
type ports struct{ grpc, http, public, publicHTTP int }

// cluster is one database, one NATS server, and two places for a replica of each
// service: the first for the old release, the second for the new.
type cluster struct {
	t        *testing.T
	dir      string
	database string
	nats     *natstest.Server
	ports    map[string][2]ports
	fronts   map[string]*front
	running  map[string]*process
	key      string
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	var postgres postgrestest.Shared
	t.Cleanup(func() { _ = postgres.Close() })
	c := &cluster{
		t: t, dir: t.TempDir(), database: postgres.URL(t), nats: natstest.New(t),
		ports: map[string][2]ports{}, fronts: map[string]*front{}, running: map[string]*process{},
	}
	if err := identity.MakeKeys(filepath.Join(c.dir, "keys"), services...); err != nil {
		t.Fatal(err)
	}
	free, err := freeport.Find(8 * len(services))
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range services {
		f := free[8*i:]
		c.ports[s] = [2]ports{{f[0], f[1], f[2], f[3]}, {f[4], f[5], f[6], f[7]}}
		c.fronts[s] = newFront(t, f[0], f[4])
	}
	docs := filepath.Join(c.dir, "docs")
	if err := os.CopyFS(docs, os.DirFS("../assembly/testdata/docs")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, p := range c.running {
			p.stop()
		}
	})
	return c
}

// config writes the configuration of one replica and gives its file.
func (c *cluster) config(service string, place int) string {
	c.t.Helper()
	p := c.ports[service][place]
	var b strings.Builder
	fmt.Fprintf(&b, "http: 127.0.0.1:%d\ndatabase: %q\nkeys: %s/keys\n", p.http, c.database+"&search_path="+service, c.dir)
	switch service {
	case "gateway":
		fmt.Fprintf(&b, "public_grpc: 127.0.0.1:%d\npublic_http: 127.0.0.1:%d\ntenants: [research, memory]\n", p.public, p.publicHTTP)
		b.WriteString("rate_limit: {caller: {per_second: 1000000, burst: 1000000}}\n")
	default:
		fmt.Fprintf(&b, "grpc: 127.0.0.1:%d\nnats: %s\n", p.grpc, c.nats.URL())
	}
	if service == "research" {
		fmt.Fprintf(&b, "documents: %s/docs\n", c.dir)
	}
	b.WriteString("peers:\n")
	for _, s := range services {
		if s != "gateway" {
			fmt.Fprintf(&b, "  %s: %s\n", s, c.fronts[s].address)
		}
	}
	file := filepath.Join(c.dir, fmt.Sprintf("%s-%d.yaml", service, place))
	if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
		c.t.Fatal(err)
	}
	return file
}

// command runs a program to its end.
func (c *cluster) command(bin, service string, args ...string) (code int, stdout, stderr string) {
	c.t.Helper()
	cmd := exec.CommandContext(c.t.Context(), filepath.Join(bin, service), args...)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	_ = cmd.Run()
	return cmd.ProcessState.ExitCode(), out.String(), said.String()
}

// migrate brings all databases up to date with a release.
func (c *cluster) migrate(bin string) {
	c.t.Helper()
	for _, s := range services {
		if code, _, said := c.command(bin, s, "migrate", "-config", c.config(s, 0)); code != 0 {
			c.t.Fatalf("migrate %s: exit code %d: %s", s, code, said)
		}
	}
}

// process is a running replica.
type process struct {
	cmd   *exec.Cmd
	ended chan struct{}
	said  bytes.Buffer // read after its end
}

// stop ends a replica in good order and gives its exit code.
func (p *process) stop() int {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	<-p.ended
	return p.cmd.ProcessState.ExitCode()
}

func name(service string, place int) string { return fmt.Sprintf("%s-%d", service, place) }

// start starts a replica and waits until it is healthy.
func (c *cluster) start(bin, service string, place int) {
	c.t.Helper()
	p := &process{ended: make(chan struct{})}
	// Not bound to the test's context, which ends before cleanups.
	p.cmd = exec.Command(filepath.Join(bin, service), "serve", "-config", c.config(service, place)) //nolint:noctx // see above
	p.cmd.Stderr = &p.said
	if err := p.cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	go func() {
		defer close(p.ended)
		_ = p.cmd.Wait()
	}()
	c.running[name(service, place)] = p
	healthy := fmt.Sprintf("http://127.0.0.1:%d/healthz", c.ports[service][place].http)
	for end := time.Now().Add(within); ; time.Sleep(50 * time.Millisecond) {
		res, err := http.Get(healthy) //nolint:noctx // bounded by within
		if err == nil {
			_ = res.Body.Close()
			if res.StatusCode == http.StatusOK {
				return
			}
		}
		select {
		case <-p.ended:
			c.t.Fatalf("%s ended: %s", name(service, place), &p.said)
		default:
		}
		if time.Now().After(end) {
			c.t.Fatalf("%s is not healthy", name(service, place))
		}
	}
}

// stop ends a replica in good order.
func (c *cluster) stop(service string, place int) {
	c.t.Helper()
	p := c.running[name(service, place)]
	delete(c.running, name(service, place))
	if code := p.stop(); code != 0 {
		c.t.Errorf("%s ends with %d: %s", name(service, place), code, &p.said)
	}
}

// kill ends a replica as a crash does.
func (c *cluster) kill(service string, place int) {
	c.t.Helper()
	p := c.running[name(service, place)]
	delete(c.running, name(service, place))
	if err := p.cmd.Process.Kill(); err != nil {
		c.t.Fatal(err)
	}
	<-p.ended
}
