package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/google/uuid"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/bench/load"
	"sabha.dev/chassis/clock"
	"sabha.dev/chassis/ext"
	"sabha.dev/chassis/identity"
)

// callers of the measures under load.
const callers = 32

type bench struct {
	length time.Duration
	rounds int
	only   string
	sabha  string
	js     string
	// profile is a folder for profiles of the servers; empty for none.
	profile string
	out     io.Writer
}

func (b *bench) run(ctx context.Context) error {
	b.machine()
	for _, m := range []struct {
		name string
		run  func(context.Context) error
		// apart from the others: only when it is named.
		apart bool
	}{
		{"task", b.tasks, false},
		{"postgres", b.postgres, false},
		{"message", b.messages, false},
		{"plan", b.plans, false},
		{"partner", b.partners, true},
		{"tool", b.tools, false},
		{"webhook", b.webhooks, false},
		{"failing", b.failing, false},
		{"idle", b.idle, false},
		{"fanout", b.fanout, false},
		{"parked", b.parked, false},
		{"oversight", b.oversight, true},
		{"pages", b.pages, true},
	} {
		if (b.only == "" && m.apart) || !strings.Contains(m.name, b.only) {
			continue
		}
		if err := m.run(ctx); err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
	}
	return nil
}

func (b *bench) line(format string, args ...any) {
	_, _ = fmt.Fprintf(b.out, format+"\n", args...)
}

// process is a server under measure.
type process struct {
	cmd     *exec.Cmd
	dir     string
	address string
	client  a2apb.A2AServiceClient
	conn    *grpc.ClientConn
}

func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String(), nil
}

// start runs a server of this program and connects to it.
func (b *bench) start(ctx context.Context, kind, sync string) (*process, error) {
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "sabha-bench-")
	if err != nil {
		return nil, err
	}
	p := &process{dir: dir, address: address}
	audience := map[string]string{"ours": "bench", "partners": "partners"}[kind] // of the tokens of who calls it
	if audience != "" {
		if err := identity.MakeKeys(filepath.Join(dir, "keys"), audience, "caller", identity.Gateway); err != nil {
			return nil, err
		}
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	args := []string{"serve", kind, "-address", address, "-dir", dir, "-sync", sync}
	if b.profile != "" {
		args = append(args, "-profile", filepath.Join(b.profile, kind+"-"+filepath.Base(dir)+".pprof"))
	}
	p.cmd = exec.CommandContext(ctx, self, args...)
	if err := p.launch(); err != nil {
		return nil, err
	}
	opts := []grpc.DialOption{grpc.WithTransportCredentials(insecure.NewCredentials())}
	if audience != "" {
		signer, err := p.signer("caller")
		if err != nil {
			return nil, errors.Join(err, p.stop())
		}
		opts = append(opts, signer.Dial(audience)...)
	}
	if p.conn, err = grpc.NewClient(address, opts...); err != nil {
		return nil, errors.Join(err, p.stop())
	}
	p.client = a2apb.NewA2AServiceClient(p.conn)
	return p, nil
}

// launch starts the command and waits for its "ready".
func (p *process) launch() error {
	p.cmd.Stderr = os.Stderr
	p.cmd.Cancel = func() error { return p.cmd.Process.Signal(os.Interrupt) }
	p.cmd.WaitDelay = 10 * time.Second
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := p.cmd.Start(); err != nil {
		return err
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "ready") {
			go func() { _, _ = io.Copy(io.Discard, out) }()
			return nil
		}
	}
	return errors.Join(errors.New("the server ended before it was ready"), p.stop())
}

func (p *process) stop() error {
	if p.conn != nil {
		_ = p.conn.Close()
	}
	_ = p.cmd.Process.Signal(os.Interrupt)
	err := p.cmd.Wait()
	return errors.Join(err, os.RemoveAll(p.dir))
}

func (p *process) signer(service string) (*identity.Signer, error) {
	key, err := identity.LoadKey(filepath.Join(p.dir, "keys", service+".key"))
	if err != nil {
		return nil, err
	}
	return identity.NewSigner(service, key, clock.System{})
}

// request is 1 KiB of text.
func request(skill string) *a2apb.SendMessageRequest {
	m := &a2apb.Message{
		MessageId: uuid.NewString(), Role: a2apb.Role_ROLE_USER,
		Parts: []*a2apb.Part{{Content: &a2apb.Part_Text{Text: payload}}},
	}
	if skill != "" {
		m.Metadata = &structpb.Struct{Fields: map[string]*structpb.Value{ext.Skill: structpb.NewStringValue(skill)}}
	}
	return &a2apb.SendMessageRequest{Message: m}
}

var payload = strings.Repeat("x", 1024)

func versioned(ctx context.Context, more ...string) context.Context {
	return metadata.AppendToOutgoingContext(ctx, append([]string{ext.MetadataVersion, "1.0"}, more...)...)
}

// sendTask sends a message and checks that a completed task with its artifact came back.
func sendTask(client a2apb.A2AServiceClient, skill string) func(context.Context) error {
	return func(ctx context.Context) error {
		res, err := client.SendMessage(versioned(ctx), request(skill))
		if err != nil {
			return err
		}
		t := res.GetTask()
		if t.GetStatus().GetState() != a2apb.TaskState_TASK_STATE_COMPLETED || len(t.GetArtifacts()) != 1 {
			return fmt.Errorf("the task did not complete: %v", t.GetStatus())
		}
		return nil
	}
}

// sendMessage sends a message and checks that a message came back.
func sendMessage(client a2apb.A2AServiceClient, tenant, skill string, md ...string) func(context.Context) error {
	return func(ctx context.Context) error {
		req := request(skill)
		req.Tenant = tenant
		res, err := client.SendMessage(versioned(ctx, md...), req)
		if err != nil {
			return err
		}
		if len(res.GetMessage().GetParts()) == 0 {
			return fmt.Errorf("no direct answer: %v", res)
		}
		return nil
	}
}

// side is one of two measured against each other.
type side struct {
	process *process
	call    func(context.Context) error
	runs    []load.Result
	// used is the processor time of the process, calls what it did in it.
	used  time.Duration
	calls int
}

// turns runs both sides in turn, so that a drift of the machine hits both.
func (b *bench) turns(ctx context.Context, callers int, sides ...*side) error {
	for range b.rounds {
		for _, s := range sides {
			before := s.process.cpu()
			r, err := load.Run(ctx, callers, b.length, s.call)
			if err != nil {
				return err
			}
			s.runs = append(s.runs, r)
			s.used += s.process.cpu() - before
			s.calls += r.Calls + r.Warm
		}
	}
	return nil
}

func (s *side) rate() float64 { return load.Median(s.runs, load.Result.Rate) }

// cost is the processor time of the process for each call, µs. It depends less than
// the rate on what else the machine does.
func (s *side) cost() float64 { return float64(s.used.Microseconds()) / float64(max(s.calls, 1)) }

func (s *side) p(q float64) float64 {
	return load.Median(s.runs, func(r load.Result) float64 { return float64(r.Quantile(q)) / float64(time.Millisecond) })
}
