package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"google.golang.org/grpc/metadata"

	"sabha.dev/chassis/clock"
	"sabha.dev/chassis/ext"
	"sabha.dev/chassis/identity"
	"sabha.dev/chassis/service"
	registryv1 "sabha.dev/gen/sabha/registry/v1"
	"sabha.dev/services/partners"
)

// PartnerFile is the file in the folder of a partner's process that says where its card is.
const PartnerFile = "url"

// PartnerReply is what the partner answers with, 2 KB of prose.
var PartnerReply = strings.Repeat("The applicant keeps a steady income and the house is worth what was asked for it. ", 25)

// foreign is an agent of another organisation on the Go SDK's server: its skill message is
// answered at once, its skill task with a task of one artifact.
type foreign struct{}

// Execute answers.
func (foreign) Execute(_ context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		reply := a2a.NewTextPart(PartnerReply)
		if ec.Message.Metadata[ext.Skill] != "task" {
			yield(a2a.NewMessage(a2a.MessageRoleAgent, reply), nil)
			return
		}
		for _, ev := range []a2a.Event{
			a2a.NewSubmittedTask(ec, ec.Message), a2a.NewStatusUpdateEvent(ec, a2a.TaskStateWorking, nil),
			a2a.NewArtifactEvent(ec, reply), a2a.NewStatusUpdateEvent(ec, a2a.TaskStateCompleted, nil),
		} {
			if !yield(ev, nil) {
				return
			}
		}
	}
}

// Cancel ends the task.
func (foreign) Cancel(_ context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		yield(a2a.NewStatusUpdateEvent(ec, a2a.TaskStateCanceled, nil), nil)
	}
}

// Partner serves the agent of another organisation over JSON-RPC.
func Partner(ctx context.Context, dir, address string, ready func()) error {
	base := "http://" + address
	card, err := json.Marshal(map[string]any{
		"name": "Foreign", "description": "Answers at once.", "version": "1", "capabilities": map[string]any{"streaming": true},
		"supportedInterfaces": []any{map[string]any{"url": base + "/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}},
		"defaultInputModes":   []string{"text/plain"}, "defaultOutputModes": []string{"text/plain"},
		"skills": []any{
			map[string]any{"id": "message", "name": "Message", "description": "Answers with a message.", "tags": []string{"bench"}},
			map[string]any{"id": "task", "name": "Task", "description": "Answers with a task.", "tags": []string{"bench"}},
		},
	})
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/a2a", a2asrv.NewJSONRPCHandler(a2asrv.NewHandler(foreign{}, a2asrv.WithLogger(slog.New(slog.NewTextHandler(io.Discard, nil))),
		a2asrv.WithCapabilityChecks(&a2a.AgentCapabilities{Streaming: true}))))
	mux.HandleFunc("/.well-known/agent-card.json", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(card) })
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, PartnerFile), []byte(base), 0o600); err != nil {
		return err
	}
	s := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	stop := context.AfterFunc(ctx, func() { _ = s.Close() })
	defer stop()
	ready()
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// agreed lets both skills of the partner be called, as often as one can, with a policy for
// what is found in what leaves.
const agreed = `partner: foreign
version: 1
owner: bench@example.org
review_date: 2099-01-01
organisation: Foreign
networks: [127.0.0.0/8]
disclosure:
  rules:
    - {name: masked, classes: [email, phone, iban, card], action: mask}
skills:
  message: {direct: true, throughput: {per_minute: 60000, concurrent: 1000}, breaker: {calls: 1000, failures: 1, slow_share: 1, slow: 20s}}
  task: {throughput: {per_minute: 60000, concurrent: 1000}, breaker: {calls: 1000, failures: 1, slow_share: 1, slow: 20s}}
`

// Partners serves the service partners at its port with one partner at a URL, registered
// and approved, every check on. It returns when ctx ends.
func Partners(ctx context.Context, dir, address, partner string, ready func()) error {
	ns, err := natsserver.NewServer(&natsserver.Options{DontListen: true, JetStream: true, StoreDir: filepath.Join(dir, "nats"), NoSigs: true, NoLog: true})
	if err != nil {
		return err
	}
	ns.Start()
	defer func() { ns.Shutdown(); ns.WaitForShutdown() }()
	nc, err := nats.Connect("", nats.InProcessServer(ns))
	if err != nil {
		return err
	}
	defer nc.Close()
	keys, err := identity.LoadKeyring(filepath.Join(dir, "keys"))
	if err != nil {
		return err
	}
	key, err := identity.LoadKey(filepath.Join(dir, "keys", partners.Name+".key"))
	if err != nil {
		return err
	}
	folder := filepath.Join(dir, "agreements")
	if err := errors.Join(os.MkdirAll(folder, 0o750), os.WriteFile(filepath.Join(folder, "foreign.yaml"), []byte(agreed), 0o600)); err != nil {
		return err
	}
	env := service.Env{
		Clock: clock.System{}, Log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})), NATS: nc, Key: key, Keys: keys, Network: service.TCP{}, Exclusive: true,
	}
	r, err := service.Start(ctx, partners.New(partners.Config{
		Config: service.Config{GRPC: address, Database: "sqlite:" + filepath.Join(dir, "partners.db"), Peers: map[string]string{
			"security": unused, "review": unused, // nothing comes from outside, and nothing needs a person
		}}, Agreements: folder,
	}), env)
	if err != nil {
		return err
	}
	err = approve(ctx, dir, address, partner, env)
	if err == nil {
		ready()
		select {
		case <-ctx.Done():
		case err = <-r.Failed():
		}
	}
	return errors.Join(err, r.Stop(context.WithoutCancel(ctx)))
}

// unused is an address that nobody is called at.
const unused = "127.0.0.1:9"

// approve does what an operator does before a partner is called.
func approve(ctx context.Context, dir, address, url string, env service.Env) error {
	var err error
	if env.Key, err = identity.LoadKey(filepath.Join(dir, "keys", identity.Gateway+".key")); err != nil {
		return err
	}
	base, done, err := service.OpenBase(ctx, service.Definition{Name: identity.Gateway, Config: service.Config{Peers: map[string]string{partners.Name: address}}}, env)
	if err != nil {
		return err
	}
	defer done()
	conn, err := base.Peer(partners.Name)
	if err != nil {
		return err
	}
	grant, err := base.Signer.Grant(identity.Principal{Subject: "operator", Organisation: "bench", Scopes: []string{identity.Admin}})
	if err != nil {
		return err
	}
	ctx = metadata.AppendToOutgoingContext(identity.WithOutgoing(ctx, identity.Call{Grant: grant}), ext.MetadataVersion, "1.0")
	registry := registryv1.NewRegistryServiceClient(conn)
	if _, err := registry.RegisterPartner(ctx, &registryv1.RegisterPartnerRequest{CardUrl: url, Id: "foreign"}); err != nil {
		return fmt.Errorf("register: %w", err)
	}
	res, err := registry.VerifyPartner(ctx, &registryv1.VerifyPartnerRequest{Id: "foreign"})
	if err != nil {
		return fmt.Errorf("verify: %w", err)
	}
	if _, err := registry.ApprovePartner(ctx, &registryv1.ApprovePartnerRequest{Id: "foreign", Digest: res.GetPartner().GetDigest()}); err != nil {
		return fmt.Errorf("approve: %w", err)
	}
	yes := true
	_, err = registry.SetRights(ctx, &registryv1.SetRightsRequest{Id: "foreign", Callable: &yes})
	return err
}
