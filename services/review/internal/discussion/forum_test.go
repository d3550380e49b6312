package discussion_test

import (
	"context"
	"crypto/ed25519"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/clock"
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

// forum is a running review agent with the people who ask and reply.
type forum struct {
	t       *testing.T
	agent   a2apb.A2AServiceClient
	talk    reviewv1.DiscussionServiceClient
	watch   adminv1.AdminServiceClient
	gateway *identity.Signer
}

// onBothEngines runs a test over SQLite and over PostgreSQL.
func onBothEngines(t *testing.T, test func(*testing.T, *forum)) {
	t.Run("sqlite", func(t *testing.T) { test(t, newForum(t, "sqlite:"+filepath.Join(t.TempDir(), "review.db"))) })
	t.Run("postgres", func(t *testing.T) { test(t, newForum(t, postgres.URL(t))) })
}

func newForum(t *testing.T, database string) *forum {
	t.Helper()
	dir := t.TempDir()
	names := []string{review.Name, "gateway", "console", "planner"}
	if err := identity.MakeKeys(dir, names...); err != nil {
		t.Fatal(err)
	}
	ring, err := identity.LoadKeyring(dir)
	if err != nil {
		t.Fatal(err)
	}
	keys := map[string]ed25519.PrivateKey{}
	for _, n := range names {
		if keys[n], err = identity.LoadKey(filepath.Join(dir, n+".key")); err != nil {
			t.Fatal(err)
		}
	}
	env := service.Env{
		Clock: clock.System{}, Log: slog.New(slog.DiscardHandler), NATS: natstest.New(t).Connect(t), Keys: ring,
		Key: keys[review.Name], Network: service.NewMemory(), Exclusive: true, Release: "test",
	}
	running, err := service.Start(t.Context(), review.New(review.Config{Config: service.Config{Database: database}}), env)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := running.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	f := &forum{t: t}
	if f.gateway, err = identity.NewSigner("gateway", keys["gateway"], clock.System{}); err != nil {
		t.Fatal(err)
	}
	peer := func(name string) *grpc.ClientConn {
		caller := env
		caller.Key = keys[name]
		base, done, err := service.OpenBase(t.Context(), service.Definition{Name: name}, caller)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(done)
		conn, err := base.Peer(review.Name)
		if err != nil {
			t.Fatal(err)
		}
		return conn
	}
	// A service of the platform asks on behalf of people; what comes through the gateway
	// is screened before, which is not this service's.
	console := peer("console")
	f.agent, f.talk = a2apb.NewA2AServiceClient(peer("planner")), reviewv1.NewDiscussionServiceClient(console)
	f.watch = adminv1.NewAdminServiceClient(console)
	return f
}

// as gives the context of a call by a person, as acme/alice.
func (f *forum) as(subject, organisation string, scopes ...string) context.Context {
	f.t.Helper()
	grant, err := f.gateway.Grant(identity.Principal{Subject: subject, Organisation: organisation, Scopes: scopes})
	if err != nil {
		f.t.Fatal(err)
	}
	ctx := identity.WithOutgoing(f.t.Context(), identity.Call{Grant: grant})
	return metadata.AppendToOutgoingContext(ctx, ext.MetadataVersion, "1.0")
}

// ask sends a question and gives its task.
func (f *forum) ask(ctx context.Context, id string, atOnce bool, parts ...*a2apb.Part) (*a2apb.Task, error) {
	f.t.Helper()
	res, err := f.agent.SendMessage(ctx, &a2apb.SendMessageRequest{
		Message: &a2apb.Message{
			MessageId: id, Role: a2apb.Role_ROLE_USER, Parts: parts,
			Metadata: &structpb.Struct{Fields: map[string]*structpb.Value{ext.Skill: structpb.NewStringValue("ask-network")}},
		},
		Configuration: &a2apb.SendMessageConfiguration{ReturnImmediately: atOnce},
	})
	if err != nil {
		return nil, err
	}
	return res.GetTask(), nil
}

// asked sends a question and waits until people can see it.
func (f *forum) asked(ctx context.Context, id, question string) string {
	f.t.Helper()
	task, err := f.ask(ctx, id, true, agent.Text(question))
	if err != nil {
		f.t.Fatal(err)
	}
	f.until(func() bool {
		_, err := f.talk.GetDiscussion(ctx, &reviewv1.GetDiscussionRequest{Id: task.GetId()})
		return err == nil && f.task(ctx, task.GetId()).GetStatus().GetState() == a2apb.TaskState_TASK_STATE_WORKING
	})
	return task.GetId()
}

func (f *forum) task(ctx context.Context, id string) *a2apb.Task {
	f.t.Helper()
	task, err := f.agent.GetTask(ctx, &a2apb.GetTaskRequest{Id: id})
	if err != nil {
		f.t.Fatal(err)
	}
	return task
}

func (f *forum) reply(ctx context.Context, id, text string) *reviewv1.Message {
	f.t.Helper()
	res, err := f.talk.Reply(ctx, &reviewv1.ReplyRequest{Id: id, Text: text})
	if err != nil {
		f.t.Fatal(err)
	}
	return res.GetReply()
}

func (f *forum) get(ctx context.Context, id string) *reviewv1.GetDiscussionResponse {
	f.t.Helper()
	res, err := f.talk.GetDiscussion(ctx, &reviewv1.GetDiscussionRequest{Id: id})
	if err != nil {
		f.t.Fatal(err)
	}
	return res
}

func (f *forum) list(ctx context.Context, req *reviewv1.ListDiscussionsRequest) []string {
	f.t.Helper()
	res, err := f.talk.ListDiscussions(ctx, req)
	if err != nil {
		f.t.Fatal(err)
	}
	ids := []string{}
	for _, d := range res.GetDiscussions() {
		ids = append(ids, d.GetId())
	}
	return ids
}

// until waits for a condition; the ceiling is reached only when something is broken.
func (f *forum) until(condition func() bool) {
	f.t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if condition() {
			return
		}
	}
	f.t.Fatal("it did not come about within a minute")
}

// refusal is the reason of an error that a client sees.
func refusal(err error) fault.Reason {
	if f := fault.FromStatus(err); f != nil {
		return f.Reason
	}
	return ""
}
