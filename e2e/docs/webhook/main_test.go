package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"sabha.dev/chassis/identity"
	"sabha.dev/chassis/push"
	"sabha.dev/cmd/sabha/platform"
	"sabha.dev/testrig/freeport"
	"sabha.dev/testrig/leftout"
)

// serve starts a whole platform whose webhooks may be on this machine.
func serve(t *testing.T) (p *platform.Platform, data string) {
	t.Helper()
	data = filepath.Join(t.TempDir(), "data")
	docs := filepath.Join(t.TempDir(), "docs")
	if err := os.MkdirAll(docs, 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(docs, "leases.md"), []byte("# Leases\n\nA lease lasts 30 seconds.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := platform.Start(t.Context(), platform.Options{
		Data: data, Docs: docs, HTTP: "127.0.0.1:0", GRPC: "127.0.0.1:0", Console: "127.0.0.1:0", PushAllow: []string{"127.0.0.0/8"},
		Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Stop(context.Background()) })
	return p, data
}

// ask asks a question whose progress goes to a webhook, and gives the task's id.
func ask(t *testing.T, p *platform.Platform, webhook string) string {
	t.Helper()
	body := fmt.Sprintf(`{"message":{"messageId":"m-%s","role":"ROLE_USER","parts":[{"text":"How long does a lease last?"}]},
		"configuration":{"taskPushNotificationConfig":{"url":%q}}}`, strings.Map(func(r rune) rune {
		if r == '/' || r == ':' {
			return '-'
		}
		return r
	}, webhook), webhook)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+p.HTTPAddr()+"/message:send", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("A2A-Version", "1.0")
	req.Header.Set("X-API-Key", p.FirstKey)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	var answer struct{ Task struct{ ID string } }
	if err := json.Unmarshal(text, &answer); err != nil || answer.Task.ID == "" {
		t.Fatalf("%s: %v", text, err)
	}
	return answer.Task.ID
}

// printed collects lines of verified notifications.
type printed struct {
	mu    sync.Mutex
	lines []string
}

func (p *printed) add(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lines = append(p.lines, line)
}

func (p *printed) all() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.lines, "\n")
}

// hears waits until the end of a task was printed.
func (p *printed) hears(t *testing.T, task string) {
	t.Helper()
	for limit := time.Now().Add(60 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		for _, l := range strings.Split(p.all(), "\n") {
			if strings.HasPrefix(l, task+" ") && strings.Contains(l, "TASK_STATE_COMPLETED") {
				return
			}
		}
		if time.Now().After(limit) {
			t.Fatalf("the end of %s was not verified:\n%s", task, p.all())
		}
	}
}

func TestTheGoReceiverVerifiesWhatAPlatformSends(t *testing.T) {
	p, data := serve(t)
	keys := "http://" + p.HTTPAddr() + push.KeysPath
	var out printed
	r := &Receiver{Keys: keys, Verified: func(task, event string, body []byte) { out.add(task + " " + event + " " + string(body)) }}
	var mu sync.Mutex
	var signature string
	var body []byte
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		raw, _ := io.ReadAll(q.Body)
		mu.Lock()
		signature, body = q.Header.Get("Sabha-Signature"), raw
		mu.Unlock()
		q.Body = io.NopCloser(bytes.NewReader(raw))
		r.ServeHTTP(w, q)
	}))
	defer server.Close()
	r.URL = server.URL + "/hook"
	task := ask(t, p, r.URL)
	out.hears(t, task)
	before := out.all()

	mu.Lock()
	defer mu.Unlock()
	private, err := identity.LoadKey(filepath.Join(data, "keys", "planner.key"))
	if err != nil {
		t.Fatal(err)
	}
	_, stranger, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	claims := push.Claims{Audience: r.URL, Expiry: time.Now().Add(time.Minute).Unix(), Task: "new", Event: "1.1", Digest: push.Digest(body)}
	old, elsewhere := claims, claims
	old.Expiry -= 120
	elsewhere.Audience = "https://example.com/"
	for _, c := range []struct {
		name, signature string
		body            []byte
		want            int
	}{
		{"the same again", signature, body, http.StatusNoContent},
		{"another body", signature, append([]byte(" "), body...), http.StatusUnauthorized},
		{"no signature", "", body, http.StatusUnauthorized},
		{"no JWS", "a.b", body, http.StatusUnauthorized},
		{"too old", sign(t, private, old), body, http.StatusUnauthorized},
		{"for another receiver", sign(t, private, elsewhere), body, http.StatusUnauthorized},
		{"an unknown key", sign(t, stranger, claims), body, http.StatusUnauthorized},
	} {
		w := httptest.NewRecorder()
		q := httptest.NewRequest(http.MethodPost, "/hook", bytes.NewReader(c.body))
		q.Header.Set("Sabha-Signature", c.signature)
		r.ServeHTTP(w, q)
		if w.Code != c.want {
			t.Errorf("%s: %d, want %d", c.name, w.Code, c.want)
		}
	}
	if after := out.all(); after != before {
		t.Errorf("printed again:\n%s", strings.TrimPrefix(after, before))
	}
}

func sign(t *testing.T, key ed25519.PrivateKey, c push.Claims) string {
	t.Helper()
	s, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.EdDSA, Key: jose.JSONWebKey{Key: key, KeyID: identity.KeyID(key.Public().(ed25519.PublicKey))}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	payload, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	jws, err := s.Sign(payload)
	if err != nil {
		t.Fatal(err)
	}
	compact, err := jws.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return compact
}

func TestTheJavaScriptReceiverVerifiesWhatAPlatformSends(t *testing.T) {
	node := leftout.Program(t, "node", "install Node.js 20 or newer")
	p, _ := serve(t)
	ports, err := freeport.Find(1)
	if err != nil {
		t.Fatal(err)
	}
	port := ports[0]
	url := fmt.Sprintf("http://127.0.0.1:%d/hook", port)
	cmd := exec.CommandContext(t.Context(), node, "webhook.mjs", fmt.Sprint(port), url, "http://"+p.HTTPAddr()+push.KeysPath)
	var refusals bytes.Buffer
	cmd.Stderr = &refusals
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	var out printed
	listening := make(chan struct{})
	go func() {
		lines := bufio.NewScanner(stdout)
		lines.Buffer(nil, 16<<20)
		for lines.Scan() {
			if strings.HasPrefix(lines.Text(), "listening") {
				close(listening)
				continue
			}
			out.add(lines.Text())
		}
	}()
	select {
	case <-listening:
	case <-time.After(60 * time.Second):
		t.Fatal("the receiver does not listen")
	}
	out.hears(t, ask(t, p, url))
	resp, err := http.Post(url, "application/a2a+json", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("without a signature: %d", resp.StatusCode)
	}
}
