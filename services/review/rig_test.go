package review_test

import (
	"context"
	"crypto/ed25519"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/ext"
	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/identity"
	"sabha.dev/chassis/service"
	adminv1 "sabha.dev/gen/sabha/admin/v1"
	reviewv1 "sabha.dev/gen/sabha/review/v1"
	"sabha.dev/services/review"
	"sabha.dev/testrig/natstest"
	"sabha.dev/testrig/postgrestest"
)

var postgres postgrestest.Shared

func TestMain(m *testing.M) {
	code := m.Run()
	_ = postgres.Close()
	os.Exit(code)
}

// onBothEngines runs a test on SQLite and on PostgreSQL.
func onBothEngines(t *testing.T, test func(*testing.T, string)) {
	t.Run("sqlite", func(t *testing.T) { test(t, "sqlite:"+filepath.Join(t.TempDir(), "review.db")) })
	t.Run("postgres", func(t *testing.T) { test(t, postgres.URL(t)) })
}

// rules of the tests: everybody decides on what is low, two lenders on what is high,
// and nobody is waited for long where the product is quick.
const rules = `owner: tests
review_date: 2099-01-31
version: "7"
queues:
  general: {title: General, due: 8h, requester_may_decide: false}
  lending: {title: Lending, due: 4h, groups: [lending], approvals: 2}
  quick: {title: Quick, due: 1m, expires: {after: 1m, means: reject, reason: nobody was quick enough}}
rules:
  - {product: [quick], queue: quick}
  - {risk: high, queue: lending}
default: general
`

// shifted is the machine's clock, ahead by what a test says.
type shifted struct{ by atomic.Int64 }

func (c *shifted) Now() time.Time                         { return time.Now().Add(time.Duration(c.by.Load())) }
func (c *shifted) After(d time.Duration) <-chan time.Time { return time.After(d) }

// rig is one or two replicas of the review agent with the services that call it.
type rig struct {
	t     *testing.T
	keys  map[string]ed25519.PrivateKey
	desks []reviewv1.ReviewServiceClient
	// watches are the same replicas for the console by itself.
	watches  []adminv1.AdminServiceClient
	accounts []reviewv1.AccountServiceClient
	agent    []a2apb.A2AServiceClient
	admin    *identity.Signer
	clock    *shifted
	nats     *natstest.Server
}

func newRig(t *testing.T, database string, replicas int) *rig {
	t.Helper()
	r := &rig{t: t, keys: map[string]ed25519.PrivateKey{}, clock: &shifted{}, nats: natstest.New(t)}
	dir := t.TempDir()
	names := []string{review.Name, "planner", "console", identity.Gateway}
	if err := identity.MakeKeys(dir, names...); err != nil {
		t.Fatal(err)
	}
	ring, err := identity.LoadKeyring(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range names {
		if r.keys[s], err = identity.LoadKey(filepath.Join(dir, s+".key")); err != nil {
			t.Fatal(err)
		}
	}
	if r.admin, err = identity.NewSigner(identity.Gateway, r.keys[identity.Gateway], r.clock); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "policy.yaml")
	if err := os.WriteFile(file, []byte(rules), 0o600); err != nil {
		t.Fatal(err)
	}
	for range replicas {
		env := service.Env{
			Clock: r.clock, Log: slog.New(slog.DiscardHandler), NATS: r.nats.Connect(t), Keys: ring, Key: r.keys[review.Name],
			Network: service.NewMemory(), Release: "test",
		}
		c := review.Config{Config: service.Config{Database: database}, Policy: file}
		running, err := service.Start(t.Context(), review.New(c), env)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := running.Stop(context.WithoutCancel(t.Context())); err != nil {
				t.Error(err)
			}
		})
		r.agent = append(r.agent, a2apb.NewA2AServiceClient(r.peer(env, "planner")))
		console := r.peer(env, "console")
		r.desks = append(r.desks, reviewv1.NewReviewServiceClient(console))
		r.watches = append(r.watches, adminv1.NewAdminServiceClient(console))
		r.accounts = append(r.accounts, reviewv1.NewAccountServiceClient(console))
	}
	return r
}

func (r *rig) peer(env service.Env, name string) *grpc.ClientConn {
	r.t.Helper()
	env.Key = r.keys[name]
	base, done, err := service.OpenBase(r.t.Context(), service.Definition{Name: name}, env)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(done)
	conn, err := base.Peer(review.Name)
	if err != nil {
		r.t.Fatal(err)
	}
	return conn
}

// as is a call on behalf of a person of acme.
func (r *rig) as(subject string, scopes ...string) context.Context {
	r.t.Helper()
	grant, err := r.admin.Grant(identity.Principal{Subject: subject, Organisation: "acme", Scopes: scopes})
	if err != nil {
		r.t.Fatal(err)
	}
	return metadata.AppendToOutgoingContext(identity.WithOutgoing(r.t.Context(), identity.Call{Grant: grant}), ext.MetadataVersion, "1.0")
}

// reviewer is a call of a reviewer who serves lending.
func (r *rig) reviewer(subject string) context.Context {
	return r.as(subject, "reviewer", "group:lending")
}

// wanted is a request for a review with some of its fields.
func wanted(fields map[string]any) map[string]any {
	all := map[string]any{
		"kind": "result", "title": "Answer to a customer", "content": map[string]any{"answer": "yes", "limit": 100.0}, "effect": "The answer is given out.",
		"reasons": []any{"confidence 0.41 is under 0.7"}, "confidence": 0.41, "request": "May I have a loan?", "risk": "low", "product": "loans",
		"playbook": "answers", "step": "approve", "plan": map[string]any{"steps": []any{}},
		"sources": []any{map[string]any{"title": "Terms", "document": "terms.pdf", "location": "p. 3", "text": "Loans up to 100."}},
	}
	for k, v := range fields {
		all[k] = v
	}
	return all
}

// ask asks for a review on behalf of ada and gives its task, whose item is stored.
func (r *rig) ask(messageID string, fields map[string]any) string {
	r.t.Helper()
	id, err := r.tryAsk(messageID, wanted(fields))
	if err != nil {
		r.t.Fatal(err)
	}
	r.until("the item is there", func() bool {
		_, err := r.desks[0].GetItem(r.as("vera", "viewer"), &reviewv1.GetItemRequest{Id: id})
		return err == nil
	})
	return id
}

func (r *rig) tryAsk(messageID string, data map[string]any) (string, error) {
	r.t.Helper()
	part, err := agent.Data(data)
	if err != nil {
		r.t.Fatal(err)
	}
	res, err := r.agent[0].SendMessage(r.as("ada"), &a2apb.SendMessageRequest{
		Message: &a2apb.Message{
			MessageId: messageID, Role: a2apb.Role_ROLE_USER, Parts: []*a2apb.Part{part},
			Metadata: &structpb.Struct{Fields: map[string]*structpb.Value{ext.Skill: structpb.NewStringValue("review")}},
		},
		Configuration: &a2apb.SendMessageConfiguration{ReturnImmediately: true},
	})
	return res.GetTask().GetId(), err
}

// until waits for a condition, for as long as a busy machine may take.
func (r *rig) until(what string, f func() bool) {
	r.t.Helper()
	for end := time.Now().Add(time.Minute); !f(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			r.t.Fatalf("it did not come about that %s", what)
		}
	}
}

func (r *rig) task(id string) *a2apb.Task {
	r.t.Helper()
	t, err := r.agent[len(r.agent)-1].GetTask(r.as("ada"), &a2apb.GetTaskRequest{Id: id})
	if err != nil {
		r.t.Fatal(err)
	}
	return t
}

// ended waits for the end of a review and gives its answer.
func (r *rig) ended(id string) map[string]any {
	r.t.Helper()
	r.until("the task completes", func() bool {
		return r.task(id).GetStatus().GetState() == a2apb.TaskState_TASK_STATE_COMPLETED
	})
	return agent.DataOf(r.task(id).GetArtifacts()[0].GetParts()).GetStructValue().AsMap()
}

func (r *rig) detail(id string) *reviewv1.Detail {
	r.t.Helper()
	res, err := r.desks[len(r.desks)-1].GetItem(r.as("vera", "viewer"), &reviewv1.GetItemRequest{Id: id})
	if err != nil {
		r.t.Fatal(err)
	}
	return res.GetDetail()
}

// said is the reason of a refusal, or "".
func said(err error) string {
	if f := fault.FromStatus(err); f != nil {
		return string(f.Reason)
	}
	if err != nil {
		return err.Error()
	}
	return ""
}
