package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"sabha.dev/cmd/sabha/platform"
	"sabha.dev/services/executor"
)

// settings of a run.
type settings struct{ programs, folder, node string }

// bank is what the scenario plays on.
type bank struct {
	settings
	out      io.Writer
	dir      string // everything that is made, removed at the end
	platform *platform.Platform
	// underwriter is the partner's address, token what it is called with.
	underwriter, token string
	partnerProcess     *exec.Cmd
	// The keys of the people: who applies, who decides, who runs the platform.
	broker, asha, ben, operator string
	said                        sync.Mutex
}

const (
	// startWithin bounds the start of the partner, answerWithin that of one application.
	startWithin  = 30 * time.Second
	answerWithin = 2 * time.Minute
)

// open starts the underwriter and the platform, and makes the people's keys.
func open(ctx context.Context, s settings, out io.Writer) (_ *bank, err error) {
	dir, err := os.MkdirTemp("", "mortgage-")
	if err != nil {
		return nil, err
	}
	b := &bank{settings: s, out: out, dir: dir, token: "northbridge-demo-token"}
	defer func() {
		if err != nil {
			err = b.close(err)
		}
	}()
	if err := b.startUnderwriter(ctx); err != nil {
		return nil, fmt.Errorf("the underwriter: %w", err)
	}
	if err := b.agree(); err != nil {
		return nil, fmt.Errorf("the agreement: %w", err)
	}
	b.platform, err = platform.Start(ctx, platform.Options{
		Data: b.at("data"), Docs: filepath.Join(s.folder, "library"), Playbooks: filepath.Join(s.folder, "playbooks"),
		Thresholds: filepath.Join(s.folder, "thresholds.yaml"), Agreements: b.at("agreements"),
		HTTP: "127.0.0.1:0", GRPC: "127.0.0.1:0", Console: "127.0.0.1:0",
		MCP: &executor.MCP{Servers: map[string]executor.MCPServer{
			"ledger": {Command: []string{b.program("ledger"), b.at("ledger.jsonl")}, Trust: "first-use"},
		}},
		Log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})),
	})
	if err != nil {
		return nil, err
	}
	b.operator = b.platform.FirstKey
	for _, k := range []struct {
		key           *string
		subject, role string
	}{{&b.broker, "broker", ""}, {&b.asha, "asha", "reviewer"}, {&b.ben, "ben", "reviewer"}} {
		if *k.key, err = b.makeKey(ctx, k.subject, k.role); err != nil {
			return nil, err
		}
	}
	return b, nil
}

func (b *bank) at(name string) string      { return filepath.Join(b.dir, name) }
func (b *bank) program(name string) string { return filepath.Join(b.programs, name) }

// startUnderwriter starts the partner and waits until it serves.
func (b *bank) startUnderwriter(ctx context.Context) error {
	if err := os.WriteFile(b.at("underwriter.token"), []byte(b.token), 0o600); err != nil {
		return err
	}
	c := exec.CommandContext(ctx, b.node, filepath.Join(b.folder, "underwriter", "underwriter.mjs"),
		"--token-file", b.at("underwriter.token"), "--keys", b.at("underwriter.jwks.json"))
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) }
	c.Stderr = os.Stderr
	lines, err := c.StdoutPipe()
	if err != nil {
		return err
	}
	if err := c.Start(); err != nil {
		return fmt.Errorf("%w; it needs Node and `npm ci --prefix examples/mortgage/underwriter`", err)
	}
	b.partnerProcess = c
	first := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(lines).ReadString('\n')
		first <- strings.TrimSpace(line)
		_, _ = io.Copy(io.Discard, lines)
	}()
	select {
	case line := <-first:
		url, ok := strings.CutPrefix(line, "ready ")
		if !ok {
			return fmt.Errorf("it did not start; it needs `npm ci --prefix examples/mortgage/underwriter`")
		}
		b.underwriter = url
		return nil
	case <-time.After(startWithin):
		return errors.New("it took too long to start")
	case <-ctx.Done():
		return ctx.Err()
	}
}

// agree puts the agreement where the platform finds it.
func (b *bank) agree() error {
	text, err := os.ReadFile(filepath.Join(b.folder, "agreements", "underwriter.yaml"))
	if err != nil {
		return err
	}
	if err := os.Mkdir(b.at("agreements"), 0o750); err != nil {
		return err
	}
	filled := strings.NewReplacer("${UNDERWRITER}", b.underwriter, "${SECRETS}", b.dir).Replace(string(text))
	return os.WriteFile(filepath.Join(b.at("agreements"), "underwriter.yaml"), []byte(filled), 0o600)
}

// makeKey makes an API key as an operator does, on the gateway's database.
func (b *bank) makeKey(ctx context.Context, subject, role string) (string, error) {
	config := fmt.Sprintf("public_grpc: \":0\"\npublic_http: \":0\"\ndatabase: sqlite:%s\nkeys: %s\ntenants: []\npeers: {planner: \"-\"}\n",
		b.at("data/gateway.db"), b.at("data/keys"))
	if err := os.WriteFile(b.at("gateway.yaml"), []byte(config), 0o600); err != nil {
		return "", err
	}
	args := []string{"keys", "create", "-config", b.at("gateway.yaml"), "-organisation", "bank", "-subject", subject}
	if role != "" {
		args = append(args, "-scopes", role)
	}
	out, err := exec.CommandContext(ctx, b.program("gateway"), args...).Output()
	return strings.TrimSpace(string(out)), err
}

// close stops everything. It returns what went wrong before it, and while stopping.
func (b *bank) close(before error) error {
	errs := []error{before}
	if b.platform != nil {
		ctx, cancel := context.WithTimeout(context.Background(), startWithin)
		errs = append(errs, b.platform.Stop(ctx))
		cancel()
	}
	if b.partnerProcess != nil {
		_ = b.partnerProcess.Process.Signal(syscall.SIGTERM)
		_ = b.partnerProcess.Wait()
	}
	return errors.Join(append(errs, os.RemoveAll(b.dir))...)
}

func (b *bank) say(format string, args ...any) error {
	b.said.Lock()
	defer b.said.Unlock()
	_, err := fmt.Fprintf(b.out, format+"\n", args...)
	return err
}

// sabha runs the command line with a person's key and shows what they would see. The exit
// code must be the expected one.
func (b *bank) sabha(ctx context.Context, key string, expected int, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	c := exec.CommandContext(ctx, b.program("sabha"), args...)
	c.Env = append(os.Environ(), "SABHA_SERVER=http://"+b.platform.HTTPAddr(), "SABHA_KEY="+key)
	out, err := c.CombinedOutput()
	if err := b.say("\n$ sabha %s\n%s", quoted(args), bytes.TrimRight(out, "\n")); err != nil {
		return "", err
	}
	if code := c.ProcessState.ExitCode(); code != expected {
		return "", fmt.Errorf("sabha %s ended with exit code %d, not %d: %w", args[0], code, expected, err)
	}
	return string(out), nil
}

// quiet runs the command line for the scenario's own use.
func (b *bank) quiet(ctx context.Context, key string, args ...string) (string, error) {
	c := exec.CommandContext(ctx, b.program("sabha"), args...)
	c.Env = append(os.Environ(), "SABHA_SERVER=http://"+b.platform.HTTPAddr(), "SABHA_KEY="+key)
	out, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("sabha %s: %w", quoted(args), err)
	}
	return string(out), nil
}

// quoted writes arguments as one would type them.
func quoted(args []string) string {
	shown := make([]string, len(args))
	for i, a := range args {
		if shown[i] = a; a == "" || strings.ContainsAny(a, " {}\"'") {
			shown[i] = "'" + a + "'"
		}
	}
	return strings.Join(shown, " ")
}

// held is what the underwriter has, by reference.
func (b *bank) held(ctx context.Context) (map[string]map[string]any, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, b.underwriter+"/held", nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+b.token)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	var held map[string]map[string]any
	return held, json.NewDecoder(res.Body).Decode(&held)
}

// entry is a line of the bank's ledger.
type entry struct {
	Kind, Reference string
	Offer           *struct {
		Name, Grade string
		Rate        float64
		Insurance   bool
	}
}

// ledger reads the lines about an application.
func (b *bank) ledger(reference string) ([]entry, error) {
	text, err := os.ReadFile(b.at("ledger.jsonl"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	var found []entry
	for line := range strings.Lines(string(text)) {
		var e entry
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			return nil, err
		}
		if e.Reference == reference {
			found = append(found, e)
		}
	}
	return found, nil
}
