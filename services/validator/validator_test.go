package validator

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
	"sabha.dev/chassis/service"
	"sabha.dev/testrig/natstest"
)

// environment is what a process gives its services, and the keys of all.
func environment(t *testing.T) (service.Env, map[string]ed25519.PrivateKey) {
	t.Helper()
	keys := t.TempDir()
	private := map[string]ed25519.PrivateKey{}
	services := []string{Name, "caller", "gateway"}
	if err := identity.MakeKeys(keys, services...); err != nil {
		t.Fatal(err)
	}
	ring, err := identity.LoadKeyring(keys)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range services {
		if private[s], err = identity.LoadKey(filepath.Join(keys, s+".key")); err != nil {
			t.Fatal(err)
		}
	}
	return service.Env{
		Clock: clock.System{}, Log: slog.New(slog.DiscardHandler), NATS: natstest.New(t).Connect(t), Keys: ring,
		Key: private[Name], Network: service.NewMemory(), Exclusive: true, Release: "test",
	}, private
}

func config(t *testing.T, policy string) Config {
	t.Helper()
	c := Config{Config: service.Config{Database: "sqlite:" + filepath.Join(t.TempDir(), "validator.db")}}
	if policy != "" {
		c.Policy = filepath.Join(t.TempDir(), "policy.yaml")
		if err := os.WriteFile(c.Policy, []byte(policy), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

func TestSkillsOverTheWire(t *testing.T) {
	env, private := environment(t)
	policy := "rules:\n  - {product: mortgage, threshold: 0.9, owner: lending, review_date: 2099-12-31}"
	r, err := service.Start(t.Context(), New(config(t, policy)), env)
	if err != nil {
		t.Fatal(err)
	}
	env.Key = private["caller"]
	base, done, err := service.OpenBase(t.Context(), service.Definition{Name: "caller"}, env)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		done()
		if err := r.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	conn, err := base.Peer(Name)
	if err != nil {
		t.Fatal(err)
	}
	gateway, err := identity.NewSigner("gateway", private["gateway"], clock.System{})
	if err != nil {
		t.Fatal(err)
	}
	grant, err := gateway.Grant(identity.Principal{Subject: "alice", Organisation: "acme"})
	if err != nil {
		t.Fatal(err)
	}
	ctx := metadata.AppendToOutgoingContext(identity.WithOutgoing(t.Context(), identity.Call{Grant: grant}), ext.MetadataVersion, "1.0")
	client := a2apb.NewA2AServiceClient(conn)
	ask := func(id, skill string, data map[string]any) (*a2apb.SendMessageResponse, error) {
		part, err := agent.Data(data)
		if err != nil {
			t.Fatal(err)
		}
		return client.SendMessage(ctx, &a2apb.SendMessageRequest{Message: &a2apb.Message{
			MessageId: id, Role: a2apb.Role_ROLE_USER, Parts: []*a2apb.Part{part},
			Metadata: &structpb.Struct{Fields: map[string]*structpb.Value{ext.Skill: structpb.NewStringValue(skill)}},
		}})
	}
	uncited := map[string]any{
		"answer": "The transfer fee is 5 EUR.", "product": "mortgage",
		"passages": []any{map[string]any{"id": "p1", "document": "fees.md", "text": "The transfer fee is 5 EUR."}},
	}

	res, err := ask("m1", "validate", uncited)
	if err != nil {
		t.Fatal(err)
	}
	task := res.GetTask()
	if task.GetStatus().GetState() != a2apb.TaskState_TASK_STATE_COMPLETED {
		t.Errorf("state %v", task.GetStatus())
	}
	if got, want := agent.TextOf(task.GetStatus().GetMessage().GetParts()), "FAIL: confidence 0.85, under the threshold of 0.90."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if len(task.GetArtifacts()) != 1 {
		t.Fatalf("artifacts %v", task.GetArtifacts())
	}
	if data := agent.DataOf(task.GetArtifacts()[0].GetParts()).GetStructValue().AsMap(); data["verdict"] != "fail" || data["threshold"] != 0.9 {
		t.Errorf("%v", data)
	}

	delete(uncited, "product")
	res, err = ask("m2", "judge", uncited)
	if err != nil {
		t.Fatal(err)
	}
	if data := agent.DataOf(res.GetMessage().GetParts()).GetStructValue().AsMap(); data["verdict"] != "pass" || data["threshold"] != 0.7 {
		t.Errorf("%v", data)
	}

	for _, skill := range []string{"validate", "judge"} {
		_, err = ask("bad-"+skill, skill, map[string]any{"answer": 1})
		if s := status.Convert(err); s.Code() != codes.InvalidArgument || s.Message() != "message.parts[0].data.answer: must be a text" {
			t.Errorf("%s: %v", skill, err)
		}
	}
}

func TestFaultyPolicyFailsTheStart(t *testing.T) {
	env, _ := environment(t)
	for policy, want := range map[string]string{
		"rules:\n  - {product: a, treshold: 1}": `policy.yaml: policy: rules[0]: line 2: unknown key "treshold"`,
		"":                                      "",
	} {
		c := config(t, policy)
		if policy == "" {
			c.Policy = filepath.Join(t.TempDir(), "missing.yaml")
			want = "missing.yaml: no such file or directory"
		}
		r, err := service.Start(t.Context(), New(c), env)
		if err == nil {
			_ = r.Stop(context.Background())
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", policy, err, want)
		}
	}
}
