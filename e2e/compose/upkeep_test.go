//go:build compose

package compose

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
)

// What the README of the project tells operators to do from time to time, by its own
// commands. These tests come last: they replace everything that runs.

// greeted opens a connection to a port of a container up to where TLS begins.
func greeted(service, host, port string) (net.Conn, error) {
	conn, err := net.DialTimeout("tcp", net.JoinHostPort(host, port), 5*time.Second)
	if err != nil {
		return nil, err
	}
	_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
	switch {
	case service == "postgres": // SSLRequest, which is answered with one letter
		if _, err = conn.Write([]byte{0, 0, 0, 8, 4, 210, 22, 47}); err == nil {
			_, err = conn.Read(make([]byte, 1))
		}
	case strings.HasPrefix(service, "nats"): // a line of JSON; no more is sent before TLS
		_, err = bufio.NewReaderSize(conn, 16).ReadString('\n')
	}
	return conn, err
}

// replicas are the containers of a service that run; their numbers depend on how often
// they were replaced.
func replicas(t *testing.T, service string) []string {
	t.Helper()
	ids := strings.Fields(do(t, "compose", "ps", "--quiet", service))
	if len(ids) == 0 {
		t.Fatalf("no container of %s runs", service)
	}
	return ids
}

// shown is the serial number of the certificate that a service shows.
func shown(t *testing.T, service, port string) string {
	t.Helper()
	// It may be in several networks; any of its addresses will do.
	hosts := strings.Fields(do(t, "inspect", "--format", "{{range .NetworkSettings.Networks}}{{.IPAddress}} {{end}}", replicas(t, service)[0]))
	conn, err := greeted(service, hosts[0], port)
	if err != nil {
		t.Logf("%s at %s:%s: %v", service, hosts[0], port, err)
		return ""
	}
	defer func() { _ = conn.Close() }()
	var serial string
	c := tls.Client(conn, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}, VerifyConnection: func(s tls.ConnectionState) error { //nolint:gosec // only looked at
		serial = s.PeerCertificates[0].SerialNumber.String()
		return nil
	}})
	_ = c.Handshake() // what comes after, without a certificate of ours, does not matter
	return serial
}

// onDisk is the serial number of a certificate that bootstrap made.
func onDisk(t *testing.T, name string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(os.Getenv("SABHA_SECRETS"), "all", "certs", name, "tls.crt"))
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(raw)
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return c.SerialNumber.String()
}

func TestRenewedCertificatesAreTakenUp(t *testing.T) {
	places := []struct{ service, port, name string }{
		{"planner", "9102", "planner"},
		{"research", "9105", "research"},
		{"security", "9101", "security"},
		{"nats-1", "4222", "nats"},
		{"nats-3", "4222", "nats"},
		{"postgres", "5432", "postgres"},
	}
	before := map[string]string{}
	for _, p := range places {
		before[p.service] = shown(t, p.service, p.port)
		if want := onDisk(t, p.name); before[p.service] != want {
			t.Fatalf("%s shows certificate %s, want %s", p.service, before[p.service], want)
		}
	}
	// One that is gone is made anew, as one that is about to end.
	old, err := filepath.Glob(filepath.Join(os.Getenv("SABHA_SECRETS"), "all", "certs", "*", "tls.crt"))
	if err != nil || len(old) == 0 {
		t.Fatal(old, err)
	}
	for _, file := range old {
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := output("./bootstrap"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	do(t, "compose", "kill", "--signal", "HUP", "nats-1", "nats-2", "nats-3")
	do(t, "compose", "exec", "--no-TTY", "postgres", "sh", "-c", "cat /run/secrets/tls/tls.key >/tmp/tls.key && kill -HUP 1")
	for _, p := range places {
		want := onDisk(t, p.name)
		if want == before[p.service] {
			t.Fatalf("bootstrap has not made another certificate for %s", p.name)
		}
		await(t, p.service+" shows its new certificate", func() bool { return shown(t, p.service, p.port) == want })
	}
	// A replica that begins now finds all others, and they it.
	do(t, "compose", "restart", "planner")
	for _, id := range replicas(t, "planner") {
		healthy(t, id)
	}
	for gateway := range gateways {
		task := overGRPC(t, gateway, message("renewed-"+httpPorts[gateway], question))
		if text, _ := answer(task); state(task) != "TASK_STATE_COMPLETED" || !strings.Contains(text, quoted) {
			t.Errorf("%s %q", state(task), text)
		}
	}
}

func TestABackupIsRestoredIntoAnEmptyProject(t *testing.T) {
	kept := overGRPC(t, 0, message("kept", question))
	await(t, "every call is recorded", func() bool { return len(hops(t, kept.GetId())) == 5 })
	dump, err := docker("compose", "exec", "--no-TTY", "postgres", "pg_dump", "--username", "postgres", "--format", "custom", "sabha")
	if err != nil {
		t.Fatal(err)
	}
	// A container that ends by itself meanwhile makes the engine refuse to remove it
	// twice; the second try finds it gone.
	await(t, "the project is gone", func() bool {
		_, err := docker("compose", "down", "--volumes", "--timeout", "5")
		if err != nil {
			t.Log(err)
		}
		return err == nil
	})

	do(t, "compose", "up", "--detach", "--wait", "postgres")
	if out, err := fed(strings.NewReader(dump), "docker", "compose", "exec", "--no-TTY", "postgres", "pg_restore", "--username", "postgres", "--clean", "--if-exists", "--dbname", "sabha"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, s := range []string{"security", "planner", "memory", "executor", "research", "validator", "review", "partners"} {
		do(t, "compose", "run", "--rm", "--no-deps", s, "restored", "-config", "/etc/sabha/config.yaml")
	}
	do(t, "compose", "up", "--detach", "--wait", "--no-build")

	// With the key of before: who asked, what was answered, and what was recorded of it.
	ctx, cancel := caller(t.Context(), within)
	defer cancel()
	var found *a2apb.Task
	await(t, "the gateways are reached again", func() bool {
		found, err = a2apb.NewA2AServiceClient(gateways[0]).GetTask(ctx, &a2apb.GetTaskRequest{Id: kept.GetId()})
		return err == nil
	})
	text, _ := answer(found)
	if want, _ := answer(kept); state(found) != "TASK_STATE_COMPLETED" || text != want {
		t.Errorf("%s %q, want %q", state(found), text, want)
	}
	if again := overREST(t, 1, message("kept", question)); again.GetId() != kept.GetId() {
		t.Errorf("the message of before became task %s, want %s", again.GetId(), kept.GetId())
	}
	if n := len(hops(t, kept.GetId())); n != 5 {
		t.Errorf("%d calls of the request are recorded, want 5", n)
	}
	task := overJSONRPC(t, 1, message("after", question))
	if text, _ := answer(task); state(task) != "TASK_STATE_COMPLETED" || !strings.Contains(text, quoted) {
		t.Errorf("a new request: %s %q", state(task), text)
	}
}
