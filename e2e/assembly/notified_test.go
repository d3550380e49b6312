package assembly_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/ext"
	"sabha.dev/chassis/push"
	"sabha.dev/chassis/service"
	"sabha.dev/cmd/sabha/platform"
	registryv1 "sabha.dev/gen/sabha/registry/v1"
)

// front stands before a platform whose port is not known yet, under an address that is, and
// keeps the notifications that come by.
type front struct {
	*httptest.Server
	mu       sync.Mutex
	behind   *httputil.ReverseProxy
	notified []notification
}

// notification as it came, and how it was answered.
type notification struct {
	path   string
	header http.Header
	body   []byte
	code   int
}

func newFront(t *testing.T) *front {
	f := &front{}
	f.Server = httptest.NewServer(f)
	t.Cleanup(f.Close)
	return f
}

func (f *front) before(address string, change func(*http.Response) error) {
	p := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: address})
	p.ModifyResponse = change
	f.mu.Lock()
	defer f.mu.Unlock()
	f.behind = p
}

func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	behind := f.behind
	f.mu.Unlock()
	if behind == nil {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	if !strings.HasPrefix(r.URL.Path, push.ReceiverPath) {
		behind.ServeHTTP(w, r)
		return
	}
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	n := notification{path: r.URL.Path, header: r.Header.Clone(), body: body}
	said := httptest.NewRecorder()
	behind.ServeHTTP(said, r)
	n.code = said.Code
	w.WriteHeader(said.Code)
	_, _ = w.Write(said.Body.Bytes())
	f.mu.Lock()
	defer f.mu.Unlock()
	f.notified = append(f.notified, n)
}

// taken gives the newest notification that was taken, if any was.
func (f *front) taken() *notification {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := len(f.notified) - 1; i >= 0; i-- {
		if f.notified[i].code == http.StatusNoContent {
			return &f.notified[i]
		}
	}
	return nil
}

// again sends a notification as it came, or changed.
func (f *front) again(t *testing.T, n notification, change func(*http.Request)) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, f.URL+n.path, bytes.NewReader(n.body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = n.header.Clone()
	if change != nil {
		change(req)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(text)
}

// withoutStreams makes a card one of an agent that only notifies.
func withoutStreams(res *http.Response) error {
	if res.StatusCode != http.StatusOK || !strings.HasSuffix(res.Request.URL.Path, "agent-card.json") {
		return nil
	}
	var card map[string]any
	if err := json.NewDecoder(res.Body).Decode(&card); err != nil {
		return err
	}
	delete(card, "signatures")
	card["capabilities"].(map[string]any)["streaming"] = false
	text, err := json.Marshal(card)
	res.Body, res.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	res.Header.Set("Content-Length", fmt.Sprint(len(text)))
	return err
}

// Two platforms of two organisations: a long task at the one is followed by its signed
// notifications to the gateway of the other.
func TestAPlatformNotifiesAnotherOfALongTask(t *testing.T) {
	theirs, ours := newFront(t), newFront(t)
	release := make(chan struct{})
	worker := service.Definition{Name: "worker", Build: func(context.Context, *service.Base) (*service.Persona, error) {
		return &service.Persona{Agent: agent.Agent{Tenant: "worker", Name: "Worker", Description: "Takes its time.", Version: "1", Skills: []agent.Skill{{
			ID: "work", Name: "Work", Description: "Works until it is let go.", Run: func(ctx context.Context, run agent.Run) (agent.Outcome, error) {
				select {
				case <-release:
				case <-ctx.Done():
					return agent.Outcome{}, ctx.Err()
				}
				part, err := agent.Data(map[string]any{"made": "a chair"})
				if err == nil {
					err = run.Artifact(&a2apb.Artifact{ArtifactId: "a", Parts: []*a2apb.Part{part}})
				}
				return agent.Completed(agent.Text("at last")), err
			},
		}}}}, nil
	}}
	other := start(t, func(o *platform.Options) {
		o.PublicURL, o.PushAllow, o.Extra, o.Tenants = theirs.URL, []string{"127.0.0.0/8"}, []service.Definition{worker}, []string{"worker"}
	})
	theirs.before(other.p.HTTPAddr(), withoutStreams)

	dir := t.TempDir()
	for name, text := range map[string]string{
		"key": other.p.FirstKey,
		"agreements/workshop.yaml": fmt.Sprintf(`partner: workshop
version: 1
owner: tests
review_date: 2099-01-31
organisation: Workshop plc
card: %s/worker/.well-known/agent-card.json
networks: [127.0.0.0/8]
signatures: {mode: off, push: required, jku: ["%s"]}
credentials: {type: api-key, file: %s, name: X-API-Key, in: header}
skills:
  work: {budget: 10m}
`, theirs.URL, strings.TrimPrefix(theirs.URL, "http://"), filepath.Join(dir, "key")),
		"playbooks/order.yaml": `playbook: order
version: 1
description: Orders something.
budget: 20m
steps:
  - {id: made, agent: partners, skill: workshop/work, budget: 15m, inputs: {text: "a chair"}}
output:
  data: {made: "= steps.made.output.data.made"}
`,
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := start(t, func(o *platform.Options) {
		o.PublicURL, o.Agreements, o.Playbooks = ours.URL, filepath.Join(dir, "agreements"), filepath.Join(dir, "playbooks")
	})
	ours.before(r.p.HTTPAddr(), nil)
	r.takeIn("workshop")

	q := ask("a chair, please")
	q.Message.Metadata = naming(ext.Playbook, "order")
	q.Configuration = &a2apb.SendMessageConfiguration{ReturnImmediately: true}
	res, err := r.a2a.SendMessage(r.ctx(), q)
	if err != nil {
		t.Fatal(err)
	}
	id := res.GetTask().GetId()
	until(t, "a notification was taken", func() bool { return ours.taken() != nil })
	n := *ours.taken()
	if code, text := ours.again(t, n, nil); code != http.StatusOK || !strings.Contains(text, "this was known already; nothing was done") {
		t.Errorf("one that is played again: %d %s", code, text)
	}
	forged := n
	forged.body = bytes.ReplaceAll(n.body, []byte("TASK_STATE_"), []byte(" TASK_STATE_"))
	if code, text := ours.again(t, forged, nil); code != http.StatusForbidden && code != http.StatusBadRequest {
		t.Errorf("one that is altered: %d %s", code, text)
	}
	if code, text := ours.again(t, n, func(q *http.Request) { q.Header.Del("Sabha-Signature") }); code != http.StatusForbidden || !strings.Contains(text, "has no Sabha-Signature") {
		t.Errorf("one that is not signed: %d %s", code, text)
	}
	if code, text := ours.again(t, n, func(q *http.Request) { q.Header.Set(push.TokenHeader, "guessed") }); code != http.StatusNotFound {
		t.Errorf("one with another token: %d %s", code, text)
	}
	close(release)
	var task *a2apb.Task
	// Without the notification it would be asked for in five minutes.
	until(t, "the task is completed", func() bool {
		task, err = r.a2a.GetTask(r.ctx(), &a2apb.GetTaskRequest{Id: id})
		return err == nil && task.GetStatus().GetState() == a2apb.TaskState_TASK_STATE_COMPLETED
	})
	if got := agent.DataOf(task.GetArtifacts()[0].GetParts()).GetStructValue().GetFields()["made"].GetStringValue(); got != "a chair" {
		t.Errorf("what was made is %q: %v", got, task)
	}
	if code, text := ours.again(t, n, nil); code != http.StatusNotFound {
		t.Errorf("one after the end: %d %s", code, text)
	}
}

// takeIn approves a partner that an agreement names, and lets plans call it.
func (r *rig) takeIn(id string) {
	r.t.Helper()
	keeper := registryv1.NewRegistryServiceClient(r.conn)
	var v *registryv1.VerifyPartnerResponse
	var err error
	until(r.t, "the partner can be verified", func() bool {
		v, err = keeper.VerifyPartner(r.ctx(), &registryv1.VerifyPartnerRequest{Id: id})
		return err == nil
	})
	if _, err = keeper.ApprovePartner(r.ctx(), &registryv1.ApprovePartnerRequest{Id: id, Digest: v.GetPartner().GetDigest()}); err != nil {
		r.t.Fatal(err)
	}
	callable := true
	if _, err = keeper.SetRights(r.ctx(), &registryv1.SetRightsRequest{Id: id, Callable: &callable}); err != nil {
		r.t.Fatal(err)
	}
}

func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for limit := time.Now().Add(2 * time.Minute); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("it never came about that %s", what)
		}
	}
}
