//go:build slow

package processes

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// within bounds what the tests wait for.
const within = 2 * time.Minute

// ports that the shipped configuration names.
var ports = []int{4222, 8080, 8081, 8222, 9090, 9101, 9102, 9103, 9104, 9105, 9106, 9109, 9110, 9201, 9202, 9203, 9204, 9205, 9206, 9207, 9208, 9209, 9210}

// offset moves all ports to free ones, below those that the system gives to
// outgoing connections.
func offset(t *testing.T) int {
	t.Helper()
	for range 200 {
		n := 2000 + rand.IntN(20_000)
		if free(n) {
			return n
		}
	}
	t.Fatal("no range of free ports was found")
	return 0
}

func free(offset int) bool {
	for _, p := range ports {
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(p+offset)))
		if err != nil {
			return false
		}
		_ = l.Close()
	}
	return true
}

// platform is a running deploy/up-processes.
type platform struct {
	command *exec.Cmd
	data    string
	offset  int
	ended   chan struct{}

	mu   sync.Mutex
	said bytes.Buffer
}

// up starts the script and waits until it says that all is ready.
func up(t *testing.T, data, docs string, offset int) *platform {
	t.Helper()
	p := &platform{data: data, offset: offset, ended: make(chan struct{})}
	// Not bound to the test's context, which ends before cleanups and would kill the script alone.
	p.command = exec.Command(filepath.Join(root, "deploy", "up-processes"), "--data", data, "--docs", docs, "--offset", strconv.Itoa(offset), "--bin", bin) //nolint:noctx // see above
	// A pipe of our own, so that the script's end is noticed while what it started still writes.
	output, input, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p.command.Stdout, p.command.Stderr = input, input
	if err := p.command.Start(); err != nil {
		t.Fatal(err)
	}
	_ = input.Close()
	t.Cleanup(func() {
		_ = p.command.Process.Signal(syscall.SIGTERM)
		<-p.ended
		if t.Failed() {
			p.mu.Lock()
			defer p.mu.Unlock()
			t.Logf("up-processes said:\n%s", &p.said)
		}
	})
	ready := make(chan struct{})
	go p.listen(output, ready)
	go func() {
		defer close(p.ended)
		_ = p.command.Wait()
	}()
	select {
	case <-ready:
	case <-p.ended:
		t.Fatal("up-processes ended before it was ready")
	case <-time.After(within):
		t.Fatal("up-processes is not ready")
	}
	return p
}

func (p *platform) listen(output io.ReadCloser, ready chan<- struct{}) {
	defer func() { _ = output.Close() }()
	for lines := bufio.NewScanner(output); lines.Scan(); {
		p.mu.Lock()
		p.said.WriteString(lines.Text() + "\n")
		p.mu.Unlock()
		if strings.HasPrefix(lines.Text(), "Ready.") {
			close(ready)
		}
	}
}

// saying is what the script printed so far.
func (p *platform) saying() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.said.String()
}

// key is the API key that the script printed.
func (p *platform) key(t *testing.T) string {
	t.Helper()
	_, rest, found := strings.Cut(p.saying(), "export SABHA_KEY=")
	if !found || !strings.HasPrefix(rest, "sk-") {
		t.Fatalf("no key in\n%s", p.saying())
	}
	return strings.Fields(rest)[0]
}

func (p *platform) address(port int) string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port+p.offset))
}

// pid of a service, as the script wrote it down.
func (p *platform) pid(t *testing.T, service string) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(p.data, "run", service+".pid"))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// pids of all processes.
func (p *platform) pids(t *testing.T) map[string]int {
	t.Helper()
	all := map[string]int{}
	for _, s := range append([]string{"nats"}, services...) {
		all[s] = p.pid(t, s)
	}
	return all
}

// await waits until done, in steps.
func await(t *testing.T, what string, done func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	for !done() {
		select {
		case <-ctx.Done():
			t.Fatalf("waited in vain until %s", what)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// gone checks that no process is left and every port is free again.
func gone(t *testing.T, p *platform, pids map[string]int) {
	t.Helper()
	for service, pid := range pids {
		await(t, fmt.Sprintf("%s (%d) has ended", service, pid), func() bool { return syscall.Kill(pid, 0) != nil })
	}
	await(t, "all ports are free", func() bool { return free(p.offset) })
}
