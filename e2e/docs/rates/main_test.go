package main

import (
	"context"
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/clock"
	"sabha.dev/chassis/ext"
	"sabha.dev/chassis/identity"
	"sabha.dev/chassis/service"
	"sabha.dev/testrig/natstest"
)

// client starts the persona and gives a connection of the planner to it.
func client(t *testing.T) a2apb.A2AServiceClient {
	t.Helper()
	dir := t.TempDir()
	if err := identity.MakeKeys(dir, "rates", "planner", "gateway"); err != nil {
		t.Fatal(err)
	}
	ring, err := identity.LoadKeyring(dir)
	if err != nil {
		t.Fatal(err)
	}
	env := service.Env{
		Clock: clock.System{}, Log: slog.New(slog.DiscardHandler), NATS: natstest.New(t).Connect(t),
		Keys: ring, Network: service.NewMemory(), Exclusive: true, Release: "1",
	}
	if env.Key, err = identity.LoadKey(filepath.Join(dir, "rates.key")); err != nil {
		t.Fatal(err)
	}
	running, err := service.Start(t.Context(), New(Config{
		Config: service.Config{Database: "sqlite:" + filepath.Join(dir, "rates.db")}, Rates: map[string]float64{"CHF": 0.5},
	}), env)
	if err != nil {
		t.Fatal(err)
	}
	if env.Key, err = identity.LoadKey(filepath.Join(dir, "planner.key")); err != nil {
		t.Fatal(err)
	}
	planner, done, err := service.OpenBase(t.Context(), service.Definition{Name: "planner"}, env)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		done()
		if err := running.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	conn, err := planner.Peer("rates")
	if err != nil {
		t.Fatal(err)
	}
	return a2apb.NewA2AServiceClient(conn)
}

func send(t *testing.T, c a2apb.A2AServiceClient, id, skill string, data map[string]any) (*a2apb.SendMessageResponse, error) {
	t.Helper()
	part, err := agent.Data(data)
	if err != nil {
		t.Fatal(err)
	}
	ctx := metadata.AppendToOutgoingContext(t.Context(), ext.MetadataVersion, "1.0")
	return c.SendMessage(ctx, &a2apb.SendMessageRequest{Message: &a2apb.Message{
		MessageId: id, Role: a2apb.Role_ROLE_USER, Parts: []*a2apb.Part{part},
		Metadata: &structpb.Struct{Fields: map[string]*structpb.Value{ext.Skill: structpb.NewStringValue(skill)}},
	}})
}

func TestConvertIsATaskWithOneArtifact(t *testing.T) {
	c := client(t)
	res, err := send(t, c, "m1", "convert", map[string]any{"amount": 30, "to": "CHF"})
	if err != nil {
		t.Fatal(err)
	}
	task := res.GetTask()
	if got := agent.TextOf(task.GetStatus().GetMessage().GetParts()); got != "15.00 CHF" {
		t.Errorf("%v: %q", task.GetStatus().GetState(), got)
	}
	if len(task.GetArtifacts()) != 1 {
		t.Fatalf("artifacts %v", task.GetArtifacts())
	}
	if got := agent.DataOf(task.GetArtifacts()[0].GetParts()).GetStructValue().AsMap(); got["amount"] != 15.0 || got["currency"] != "CHF" {
		t.Errorf("artifact %v", got)
	}
	again, err := send(t, c, "m1", "convert", map[string]any{"amount": 30, "to": "CHF"})
	if err != nil || again.GetTask().GetId() != task.GetId() {
		t.Errorf("the message sent again: task %s, error %v; want %s", again.GetTask().GetId(), err, task.GetId())
	}
}

func TestABadOrderIsRefusedBeforeAnythingIsStored(t *testing.T) {
	c := client(t)
	for want, data := range map[string]map[string]any{
		`message.parts[0].data.to: there is no rate for "XXX"`:                {"amount": 1, "to": "XXX"},
		"message.parts[0].data.amount: is a JSON string; it must be a number": {"amount": "1", "to": "CHF"},
		`message.parts[0].data: has the unknown field "from"`:                 {"from": "USD", "to": "CHF"},
	} {
		if _, err := send(t, c, "bad", "convert", data); status.Code(err) != codes.InvalidArgument || status.Convert(err).Message() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	ctx := metadata.AppendToOutgoingContext(t.Context(), ext.MetadataVersion, "1.0")
	if list, err := c.ListTasks(ctx, &a2apb.ListTasksRequest{}); err != nil || list.GetTotalSize() != 0 {
		t.Errorf("%d tasks, %v", list.GetTotalSize(), err)
	}
}

func TestListIsADirectAnswer(t *testing.T) {
	res, err := send(t, client(t), "m1", "list", map[string]any{})
	if err != nil || res.GetTask() != nil {
		t.Fatalf("%v, %v", res, err)
	}
	if got := agent.TextOf(res.GetMessage().GetParts()); got != "map[CHF:0.5]" {
		t.Errorf("rates %q", got)
	}
}
