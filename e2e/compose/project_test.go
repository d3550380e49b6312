//go:build compose

// Package compose runs the platform as deploy/compose describes it and does to it
// what happens in operation: it is scaled, rolled, and parts of it are killed. It
// needs docker with the compose plugin, and the images; deploy/compose/test has both.
package compose

import (
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
	"testing"
	"time"
)

// within bounds every wait for something that must happen. It is reached only
// when something is broken.
const within = 3 * time.Minute

// folder of the compose project.
const folder = "../../deploy/compose"

// key is the API key of an operator.
var key string

// httpPorts and grpcPorts are those of the gateways, one of each for a replica.
var (
	httpPorts, grpcPorts [2]string
	consolePort          string
)

func TestMain(m *testing.M) {
	os.Exit(func() int {
		secrets, err := os.MkdirTemp("", "sabha-compose-")
		if err != nil {
			panic(err)
		}
		defer func() { _ = os.RemoveAll(secrets) }()
		docs, err := filepath.Abs("testdata/docs")
		if err != nil {
			panic(err)
		}
		project(secrets, docs)
		defer func() { _, _ = docker("compose", "down", "--volumes", "--remove-orphans", "--timeout", "5") }()
		err = up()
		if err == nil {
			err = connect()
		}
		if err != nil {
			fmt.Println(err)
			report()
			return 1
		}
		code := m.Run()
		if code != 0 {
			report()
		}
		return code
	}())
}

// project chooses what compose.yaml asks for: the environment goes before .env.
func project(secrets, docs string) {
	first := freePorts(5)
	port := func(i int) string { return strconv.Itoa(first + i) }
	for i := range 2 {
		httpPorts[i], grpcPorts[i] = port(i), port(2+i)
	}
	consolePort = port(4)
	if os.Getenv("COMPOSE_PROJECT_NAME") == "" {
		_ = os.Setenv("COMPOSE_PROJECT_NAME", "sabha-test-"+port(0))
	}
	for name, value := range map[string]string{
		"SABHA_SECRETS": secrets, "SABHA_DOCS": docs,
		"SABHA_HTTP_PORTS": port(0) + "-" + port(1), "SABHA_GRPC_PORTS": port(2) + "-" + port(3), "SABHA_CONSOLE_PORT": consolePort,
		"SABHA_PUBLIC_URL": "http://localhost:" + port(0), "SABHA_PUBLIC_GRPC": "localhost:" + port(2),
	} {
		if err := os.Setenv(name, value); err != nil {
			panic(err)
		}
	}
}

// freePorts gives the first of n free ports in a row, below those that the system
// gives to outgoing connections.
func freePorts(n int) int {
	for range 200 {
		first, free := 10_000+rand.IntN(20_000), 0
		for ; free < n; free++ {
			l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(first+free)))
			if err != nil {
				break
			}
			_ = l.Close()
		}
		if free == n {
			return first
		}
	}
	panic("no range of free ports was found")
}

func up() error {
	if out, err := output("./bootstrap"); err != nil {
		return fmt.Errorf("bootstrap: %w\n%s", err, out)
	}
	begun := time.Now()
	if out, err := docker("compose", "up", "--detach", "--wait", "--no-build"); err != nil {
		return fmt.Errorf("docker compose up: %w\n%s", err, out)
	}
	fmt.Printf("every container is healthy after %.0f s\n", time.Since(begun).Seconds())
	out, err := docker("compose", "run", "--rm", "--no-deps", "--no-TTY", "gateway", "keys", "create", "-config", "/etc/sabha/config.yaml",
		"-subject", "operator", "-scopes", "operator,auditor")
	if err != nil {
		return fmt.Errorf("keys create: %w\n%s", err, out)
	}
	key = strings.TrimSpace(out)
	return nil
}

// report prints what helps to understand a failure.
func report() {
	for _, args := range [][]string{
		{"compose", "ps", "--all"},
		{"compose", "logs", "--no-color", "--tail", "60"},
	} {
		out, err := docker(args...)
		fmt.Printf("docker %s: %v\n%s\n", strings.Join(args, " "), err, out)
	}
}

// docker runs a command in the folder of the project and gives what it printed.
func docker(args ...string) (string, error) { return output("docker", args...) }

// output runs a program in the folder of the project.
func output(program string, args ...string) (string, error) { return fed(nil, program, args...) }

// fed is output with something on standard input.
func fed(in io.Reader, program string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*within)
	defer cancel()
	c := exec.CommandContext(ctx, program, args...)
	c.Dir = folder
	c.Stdin = in
	var out, said bytes.Buffer
	c.Stdout, c.Stderr = &out, &said
	if err := c.Run(); err != nil {
		return out.String(), fmt.Errorf("%w: %s", err, said.String())
	}
	return out.String(), nil
}

// do runs a docker command that must succeed.
func do(t *testing.T, args ...string) string {
	t.Helper()
	out, err := docker(args...)
	if err != nil {
		t.Fatalf("docker %s: %v", strings.Join(args, " "), err)
	}
	return strings.TrimSpace(out)
}

// container is the id of a replica, counted from 1.
func container(t *testing.T, service string, replica int) string {
	t.Helper()
	ids := strings.Fields(do(t, "ps", "--all", "--quiet", "--filter", "label=com.docker.compose.project="+os.Getenv("COMPOSE_PROJECT_NAME"),
		"--filter", "label=com.docker.compose.service="+service, "--filter", "label=com.docker.compose.container-number="+strconv.Itoa(replica)))
	if len(ids) != 1 {
		t.Fatalf("%s has %d containers of number %d", service, len(ids), replica)
	}
	return ids[0]
}

// await waits until done, in steps.
func await(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(within); !done(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain until %s", what)
		}
	}
}

// healthy waits for a container.
func healthy(t *testing.T, id string) {
	t.Helper()
	await(t, "the container is healthy", func() bool {
		return do(t, "inspect", "--format", "{{.State.Health.Status}}", id) == "healthy"
	})
}
