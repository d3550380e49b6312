package replicas

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"

	"sabha.dev/chassis/service"
)

// nodeFile, when set, has the test program be the node of that plan instead of
// testing: a process that can be killed and stalled.
const nodeFile = "SABHA_E2E_REPLICAS_NODE"

// serve is a node until it is told to stop.
func serve(file string) error {
	raw, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var p plan
	if err := json.Unmarshal(raw, &p); err != nil {
		return err
	}
	service.Tune()
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer cancel()
	n, err := p.start(ctx, os.Stderr)
	if err != nil {
		return err
	}
	if err := os.WriteFile(file+".ready", nil, 0o600); err != nil {
		return err
	}
	<-ctx.Done()
	return n.stop(context.Background())
}

// process is a node in a process of its own.
type process struct {
	*exec.Cmd
	ended chan struct{}
}

// spawn starts a node as a process and returns when it serves. It is killed with
// the test.
func (f *fleet) spawn(n int) *process {
	f.Helper()
	file := filepath.Join(f.dir, address(n))
	raw, err := json.Marshal(f.plans[n])
	f.must(err)
	f.must(os.WriteFile(file, raw, 0o600))
	_ = os.Remove(file + ".ready")
	self, err := os.Executable()
	f.must(err)
	p := &process{exec.Command(self), make(chan struct{})}
	p.Env = append(os.Environ(), nodeFile+"="+file)
	p.Stdout, p.Stderr = f.Output(), f.Output()
	f.must(p.Start())
	go func() { _ = p.Wait(); close(p.ended) }()
	f.Cleanup(func() {
		_ = p.Process.Kill()
		<-p.ended
	})
	f.soon("the node serves", func() bool {
		_, err := os.Stat(file + ".ready")
		return err == nil
	})
	f.readKey()
	return p
}
