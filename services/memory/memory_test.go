package memory_test

import (
	"context"
	"crypto/ed25519"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
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
	"sabha.dev/chassis/label"
	"sabha.dev/chassis/service"
	"sabha.dev/services/memory"
	"sabha.dev/testrig/natstest"
)

// platform is where memory runs, with a calling service beside it.
type platform struct {
	t       *testing.T
	env     service.Env
	keys    map[string]ed25519.PrivateKey
	folder  string
	running *service.Running
	client  a2apb.A2AServiceClient
}

func newPlatform(t *testing.T) *platform {
	t.Helper()
	p := &platform{t: t, keys: map[string]ed25519.PrivateKey{}, folder: t.TempDir()}
	dir := t.TempDir()
	services := []string{memory.Name, "caller", "gateway"}
	if err := identity.MakeKeys(dir, services...); err != nil {
		t.Fatal(err)
	}
	ring, err := identity.LoadKeyring(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range services {
		if p.keys[s], err = identity.LoadKey(filepath.Join(dir, s+".key")); err != nil {
			t.Fatal(err)
		}
	}
	p.env = service.Env{
		Clock: clock.System{}, Log: slog.New(slog.DiscardHandler), NATS: natstest.New(t).Connect(t), Keys: ring,
		Key: p.keys[memory.Name], Network: service.NewMemory(), Exclusive: true, Release: "test",
	}
	caller := p.env
	caller.Key = p.keys["caller"]
	base, done, err := service.OpenBase(t.Context(), service.Definition{Name: "caller"}, caller)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(done)
	conn, err := base.Peer(memory.Name)
	if err != nil {
		t.Fatal(err)
	}
	p.client = a2apb.NewA2AServiceClient(conn)
	return p
}

func (p *platform) start() {
	p.t.Helper()
	c := memory.Config{Config: service.Config{Database: "sqlite:" + filepath.Join(p.folder, "memory.db")}}
	var err error
	if p.running, err = service.Start(p.t.Context(), memory.New(c), p.env); err != nil {
		p.t.Fatal(err)
	}
}

func (p *platform) stop() {
	p.t.Helper()
	if err := p.running.Stop(context.WithoutCancel(p.t.Context())); err != nil {
		p.t.Error(err)
	}
}

// ask sends a data part on behalf of a subject, with what the caller states of its labels,
// and gives the answer's data.
func (p *platform) ask(subject, skill, messageID string, data map[string]any, labels ...label.Labels) (map[string]any, error) {
	p.t.Helper()
	gateway, err := identity.NewSigner("gateway", p.keys["gateway"], clock.System{})
	if err != nil {
		p.t.Fatal(err)
	}
	grant, err := gateway.Grant(identity.Principal{Subject: subject, Organisation: "acme"})
	if err != nil {
		p.t.Fatal(err)
	}
	part, err := agent.Data(data)
	if err != nil {
		p.t.Fatal(err)
	}
	ctx := metadata.AppendToOutgoingContext(identity.WithOutgoing(p.t.Context(), identity.Call{Grant: grant}), ext.MetadataVersion, "1.0")
	req := &a2apb.SendMessageRequest{Message: &a2apb.Message{
		MessageId: messageID, Role: a2apb.Role_ROLE_USER, Parts: []*a2apb.Part{part},
		Metadata: &structpb.Struct{Fields: map[string]*structpb.Value{ext.Skill: structpb.NewStringValue(skill)}},
	}}
	for _, l := range labels {
		req.Metadata = &structpb.Struct{Fields: map[string]*structpb.Value{ext.Labels: l.Value()}}
	}
	res, err := p.client.SendMessage(ctx, req)
	if err != nil {
		return nil, err
	}
	if res.GetMessage() == nil {
		p.t.Fatalf("want a direct message, got %v", res)
	}
	return agent.DataOf(res.GetMessage().GetParts()).GetStructValue().AsMap(), nil
}

func (p *platform) recalled(subject, messageID string) string {
	p.t.Helper()
	answer, err := p.ask(subject, "recall", messageID, map[string]any{"query": "customer"})
	if err != nil {
		p.t.Fatal(err)
	}
	var texts []string
	for _, m := range answer["memories"].([]any) {
		texts = append(texts, m.(map[string]any)["text"].(string))
	}
	return strings.Join(texts, " | ")
}

func TestMemoryOutlivesTheProcessAndForgettingIsForGood(t *testing.T) {
	p := newPlatform(t)
	p.start()
	first, err := p.ask("alice", "remember", "m1", map[string]any{"text": "The customer likes quetzals."})
	if err != nil {
		t.Fatal(err)
	}
	p.stop()
	p.start()
	if got := p.recalled("alice", "m2"); got != "The customer likes quetzals." {
		t.Errorf("recalled %q", got)
	}
	if got := p.recalled("bob", "m2"); got != "" {
		t.Errorf("bob recalled %q", got)
	}
	again, err := p.ask("alice", "remember", "m1", map[string]any{"text": "The customer likes quetzals."})
	if err != nil || again["id"] != first["id"] {
		t.Errorf("the message sent again: %v, error %v; the first time %v", again, err, first)
	}
	// By a caller that has learnt more of the text since: it is the same message.
	again, err = p.ask("alice", "remember", "m1", map[string]any{"text": "The customer likes quetzals."}, label.Labels{Integrity: label.Untrusted})
	if err != nil || again["id"] != first["id"] {
		t.Errorf("the message sent again with labels: %v, error %v; the first time %v", again, err, first)
	}
	_, err = p.ask("alice", "remember", "m1", map[string]any{"text": "something else"})
	if status.Code(err) != codes.AlreadyExists {
		t.Errorf("another message with the id: %v", err)
	}
	if got, err := p.ask("alice", "forget", "m3", map[string]any{"all": true}); err != nil || got["forgotten"] != 1.0 {
		t.Errorf("forgotten %v, error %v", got, err)
	}
	if got := p.recalled("alice", "m4"); got != "" {
		t.Errorf("recalled %q after forgetting", got)
	}
	p.stop()
	files, err := os.ReadDir(p.folder)
	if err != nil || len(files) == 0 {
		t.Fatalf("files %v, error %v", files, err)
	}
	for _, f := range files {
		raw, err := os.ReadFile(filepath.Join(p.folder, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(raw), "quetzals") {
			t.Errorf("%s still holds the forgotten text", f.Name())
		}
	}
}

func TestBadInputIsAFieldError(t *testing.T) {
	p := newPlatform(t)
	p.start()
	defer p.stop()
	_, err := p.ask("alice", "remember", "m1", map[string]any{"kind": "long_term"})
	s := status.Convert(err)
	if s.Code() != codes.InvalidArgument || s.Message() != "message.parts[0].data.text: is missing; give the text to remember" {
		t.Errorf("error %v", err)
	}
	if _, err := p.ask("", "recall", "m2", map[string]any{"query": "x"}); status.Code(err) != codes.Unauthenticated {
		t.Errorf("an anonymous caller: %v", err)
	}
}
