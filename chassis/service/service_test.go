package service_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/clock"
	"sabha.dev/chassis/ext"
	"sabha.dev/chassis/identity"
	"sabha.dev/chassis/service"
	"sabha.dev/testrig/natstest"
)

func keys(tb testing.TB, services ...string) (identity.Keyring, map[string]ed25519.PrivateKey) {
	tb.Helper()
	dir := tb.TempDir()
	if err := identity.MakeKeys(dir, services...); err != nil {
		tb.Fatal(err)
	}
	ring, err := identity.LoadKeyring(dir)
	if err != nil {
		tb.Fatal(err)
	}
	private := map[string]ed25519.PrivateKey{}
	for _, s := range services {
		if private[s], err = identity.LoadKey(filepath.Join(dir, s+".key")); err != nil {
			tb.Fatal(err)
		}
	}
	return ring, private
}

func echo(context.Context, *service.Base) (*service.Persona, error) {
	return &service.Persona{Unscreened: true, Agent: agent.Agent{
		Tenant: "echo", Name: "Echo", Version: "1",
		Skills: []agent.Skill{
			{ID: "echo", Run: func(_ context.Context, run agent.Run) (agent.Outcome, error) {
				text := agent.TextOf(run.Request().Message.GetParts())
				if err := run.Artifact(&a2apb.Artifact{Name: "echo", Parts: []*a2apb.Part{agent.Text(text)}}); err != nil {
					return agent.Outcome{}, err
				}
				return agent.Completed(), nil
			}},
			{ID: "say", Answer: func(_ context.Context, req *agent.Request) (*a2apb.Message, error) {
				return agent.Message(agent.Text(agent.TextOf(req.Message.GetParts()))), nil
			}},
		},
	}}, nil
}

func start(tb testing.TB, change ...func(*service.Config)) (a2apb.A2AServiceClient, func() context.Context) {
	tb.Helper()
	ring, private := keys(tb, "echo", "caller", "gateway")
	nats := natstest.New(tb)
	network := service.NewMemory()
	env := service.Env{
		Clock: clock.System{}, Log: slog.New(slog.NewTextHandler(os.Stderr, nil)), NATS: nats.Connect(tb), Keys: ring, Key: private["echo"],
		Network: network, Exclusive: true,
	}
	config := service.Config{Database: "sqlite:" + filepath.Join(tb.TempDir(), "echo.db")}
	for _, f := range change {
		f(&config)
	}
	r, err := service.Start(tb.Context(), service.Definition{Name: "echo", Config: config, Build: echo}, env)
	if err != nil {
		tb.Fatal(err)
	}
	env.Key = private["caller"]
	base, done, err := service.OpenBase(tb.Context(), service.Definition{Name: "caller"}, env)
	if err != nil {
		tb.Fatal(err)
	}
	conn, err := base.Peer("echo")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		done()
		if err := r.Stop(context.Background()); err != nil {
			tb.Error(err)
		}
	})
	gateway, err := identity.NewSigner("gateway", private["gateway"], clock.System{})
	if err != nil {
		tb.Fatal(err)
	}
	grant, err := gateway.Grant(identity.Principal{Subject: "alice", Organisation: "acme"})
	if err != nil {
		tb.Fatal(err)
	}
	return a2apb.NewA2AServiceClient(conn), func() context.Context {
		ctx := identity.WithOutgoing(context.Background(), identity.Call{Grant: grant})
		return metadata.AppendToOutgoingContext(ctx, "a2a-version", "1.0")
	}
}

func message(id, text string) *a2apb.SendMessageRequest {
	return &a2apb.SendMessageRequest{Message: &a2apb.Message{MessageId: id, Role: a2apb.Role_ROLE_USER, Parts: []*a2apb.Part{agent.Text(text)}}}
}

func TestSendMessageCompletesADurableTask(t *testing.T) {
	client, ctx := start(t)
	res, err := client.SendMessage(ctx(), message("m1", "hello"))
	if err != nil {
		t.Fatal(err)
	}
	task := res.GetTask()
	if got := task.GetStatus().GetState(); got != a2apb.TaskState_TASK_STATE_COMPLETED {
		t.Fatalf("state %v", got)
	}
	if got := task.GetArtifacts()[0].GetParts()[0].GetText(); got != "hello" {
		t.Fatalf("artifact %q", got)
	}
	stored, err := client.GetTask(ctx(), &a2apb.GetTaskRequest{Id: task.GetId()})
	if err != nil {
		t.Fatal(err)
	}
	if stored.GetStatus().GetState() != a2apb.TaskState_TASK_STATE_COMPLETED || len(stored.GetHistory()) != 1 {
		t.Fatalf("stored task: %v", stored)
	}
	again, err := client.SendMessage(ctx(), message("m1", "hello"))
	if err != nil || again.GetTask().GetId() != task.GetId() {
		t.Fatalf("the same message again: %v, %v", again, err)
	}
	if _, err := client.SendMessage(ctx(), message("m1", "changed")); err == nil {
		t.Fatal("a changed body under a used message id was accepted")
	}
}

func TestStreamBeginsWithTheTaskAndEndsWithItsEnd(t *testing.T) {
	client, ctx := start(t)
	stream, err := client.SendStreamingMessage(ctx(), message("s1", "hello"))
	if err != nil {
		t.Fatal(err)
	}
	var kinds string
	for {
		ev, err := stream.Recv()
		if err != nil {
			break
		}
		switch {
		case ev.GetTask() != nil:
			kinds += "T"
		case ev.GetArtifactUpdate() != nil:
			kinds += "A"
		default:
			kinds += "S"
		}
	}
	if kinds != "TSAS" {
		t.Fatalf("events %s, want the task, working, the artifact, the end", kinds)
	}
}

func randomID() string { return rand.Text() }

func skill(id string) *structpb.Struct {
	return &structpb.Struct{Fields: map[string]*structpb.Value{ext.Skill: structpb.NewStringValue(id)}}
}
