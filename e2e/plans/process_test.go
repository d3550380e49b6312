package plans_test

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/ext"
)

// patience bounds every wait for something that must happen. It is reached only
// when something is broken.
const patience = time.Minute

// process is a platform that can be killed, over one data folder.
type process struct {
	t   *testing.T
	dir string
	cmd *exec.Cmd
	// ended is closed when the running process has.
	ended chan struct{}
}

func newProcess(t *testing.T, playbooks map[string]string) *process {
	t.Helper()
	p := &process{t: t, dir: t.TempDir()}
	if err := os.Mkdir(filepath.Join(p.dir, booksDir), 0o750); err != nil {
		t.Fatal(err)
	}
	for name, text := range playbooks {
		if err := os.WriteFile(filepath.Join(p.dir, booksDir, name+".yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		if p.cmd != nil {
			p.kill()
		}
	})
	return p
}

// start starts the process and returns when it serves.
func (p *process) start() {
	p.t.Helper()
	program, err := os.Executable()
	if err != nil {
		p.t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(p.dir, addressFile)); err != nil && !errors.Is(err, os.ErrNotExist) {
		p.t.Fatal(err)
	}
	p.cmd = exec.Command(program)
	p.cmd.Env = append(os.Environ(), serveIn+"="+p.dir)
	p.cmd.Stdout, p.cmd.Stderr = p.t.Output(), p.t.Output()
	if err := p.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.ended = make(chan struct{})
	go func(cmd *exec.Cmd, ended chan struct{}) {
		_ = cmd.Wait()
		close(ended)
	}(p.cmd, p.ended)
	for end := time.Now().Add(patience); p.read(addressFile) == ""; time.Sleep(5 * time.Millisecond) {
		select {
		case <-p.ended:
			p.t.Fatal("the platform ended while it started")
		default:
		}
		if time.Now().After(end) {
			p.t.Fatal("the platform does not serve")
		}
	}
}

// kill ends the process as a power cut would, and returns when it is gone.
func (p *process) kill() { p.end(syscall.SIGKILL) }

// stop has the process end in order, and returns when it is gone.
func (p *process) stop() { p.end(syscall.SIGTERM) }

func (p *process) end(how syscall.Signal) {
	_ = p.cmd.Process.Signal(how)
	<-p.ended
	p.cmd = nil
}

func (p *process) read(name string) string {
	raw, err := os.ReadFile(filepath.Join(p.dir, name))
	if err != nil {
		return ""
	}
	return string(raw)
}

// work lists the executions so far: who executed, and which message.
func (p *process) work() [][2]string {
	var list [][2]string
	for line := range strings.Lines(p.read(workFile)) {
		if pid, id, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			list = append(list, [2]string{pid, id})
		}
	}
	return list
}

// stepOf is the plan and step of a message id of the scribe's.
func stepOf(messageID string) string {
	f := strings.Split(messageID, "/")
	if len(f) < 2 {
		return messageID
	}
	return f[0] + "/" + f[1]
}

// executions counts the executions of each plan's steps, as "task/step".
func (p *process) executions() map[string]int {
	n := map[string]int{}
	for _, w := range p.work() {
		n[stepOf(w[1])]++
	}
	return n
}

// client connects to the process as it serves now.
func (p *process) client() (a2apb.A2AServiceClient, func()) {
	p.t.Helper()
	conn, err := grpc.NewClient(p.read(addressFile), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		p.t.Fatal(err)
	}
	return a2apb.NewA2AServiceClient(conn), func() { _ = conn.Close() }
}

// ctx is that of a caller with the first key.
func (p *process) ctx(more ...string) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	return metadata.AppendToOutgoingContext(ctx, append([]string{"a2a-version", "1.0", "x-api-key", p.read(keyFile)}, more...)...), cancel
}

// send has a plan accepted, whatever happens on the way: it is sent again under
// its id until there is an answer.
func (p *process) send(client a2apb.A2AServiceClient, book, id string, parts ...*a2apb.Part) (string, error) {
	if len(parts) == 0 {
		parts = []*a2apb.Part{agent.Text("go")}
	}
	ctx, cancel := p.ctx()
	defer cancel()
	res, err := client.SendMessage(ctx, &a2apb.SendMessageRequest{
		Message: &a2apb.Message{
			MessageId: id, Role: a2apb.Role_ROLE_USER, Parts: parts,
			Metadata: &structpb.Struct{Fields: map[string]*structpb.Value{ext.Playbook: structpb.NewStringValue(book)}},
		},
		Configuration: &a2apb.SendMessageConfiguration{ReturnImmediately: true},
	})
	return res.GetTask().GetId(), err
}

func (p *process) get(client a2apb.A2AServiceClient, id string) (*a2apb.Task, error) {
	ctx, cancel := p.ctx()
	defer cancel()
	return client.GetTask(ctx, &a2apb.GetTaskRequest{Id: id})
}

// finish waits until a plan has ended and gives it.
func (p *process) finish(client a2apb.A2AServiceClient, id string) *a2apb.Task {
	p.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		task, err := p.get(client, id)
		if err != nil && status.Code(err) != codes.Unavailable {
			p.t.Fatal(err)
		}
		switch task.GetStatus().GetState() {
		case a2apb.TaskState_TASK_STATE_COMPLETED, a2apb.TaskState_TASK_STATE_FAILED, a2apb.TaskState_TASK_STATE_CANCELED, a2apb.TaskState_TASK_STATE_REJECTED:
			return task
		}
		if time.Now().After(end) {
			p.t.Fatalf("plan %s has not ended: %v", id, task)
		}
	}
}

// stepStates are the states of a plan's steps as the client sees them.
func stepStates(task *a2apb.Task) map[string]string {
	states := map[string]string{}
	for _, v := range task.GetMetadata().GetFields()[ext.Plan].GetStructValue().GetFields()["steps"].GetListValue().GetValues() {
		f := v.GetStructValue().GetFields()
		if f["kind"].GetStringValue() != "" {
			continue // a compensation
		}
		states[f["step"].GetStringValue()] = f["state"].GetStringValue()
	}
	return states
}

func newID() string { return rand.Text() }
