package fleet

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Process is one program of the fleet, which can be killed and started again.
type Process struct {
	// Service that it is a replica of, and its name among all processes.
	Service, Name string
	// HTTP is the address of health and metrics.
	HTTP string

	launcher *launcher
	dir      string
	command  []string
	health   string // path

	mu      sync.Mutex
	running *exec.Cmd // nil while it is down
	ended   chan struct{}
	down    bool // on purpose
	starts  int
	fell    []string
}

// again is how long a process that ended by itself is left before it is started again.
const again = time.Second

// healthy bounds the wait for a start. It is generous, because it is reached only
// when something is broken.
const healthy = 2 * time.Minute

// Start starts a process that is down. From now on it is started again whenever it
// ends by itself.
func (p *Process) Start() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = false
	return p.start()
}

func (p *Process) start() error {
	log, err := os.OpenFile(p.LogFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	c := exec.Command(p.command[0], p.command[1:]...) //nolint:noctx // it ends by signals
	c.Dir, c.Stdout, c.Stderr = p.dir, log, log
	if err := p.launcher.start(c); err != nil {
		return fmt.Errorf("%s: %w", p.Name, err)
	}
	p.starts++
	p.running, p.ended = c, make(chan struct{})
	go p.watch(c, p.ended)
	return nil
}

// watch notices the end of a process, and starts it again if nobody ended it.
func (p *Process) watch(c *exec.Cmd, ended chan struct{}) {
	_ = c.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running = nil
	close(ended)
	if p.down {
		return
	}
	p.fell = append(p.fell, fmt.Sprintf("%s %s ended by itself (%s): %s", time.Now().Format("15:04:05"), p.Name, c.ProcessState, p.lastWords()))
	time.AfterFunc(again, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if !p.down && p.running == nil {
			_ = p.start()
		}
	})
}

// Signal sends a signal to a running process.
func (p *Process) Signal(s syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running != nil {
		_ = p.running.Process.Signal(s)
	}
}

// End ends the process by a signal, KILL after a while, and returns how long that took.
func (p *Process) End(s syscall.Signal) time.Duration {
	p.mu.Lock()
	p.down = true
	running, ended := p.running, p.ended
	p.mu.Unlock()
	begun := time.Now()
	if running == nil {
		return 0
	}
	_ = running.Process.Signal(s)
	select {
	case <-ended:
	case <-time.After(30 * time.Second):
		_ = running.Process.Kill()
		<-ended
	}
	return time.Since(begun)
}

// Healthy waits until the process says that it serves.
func (p *Process) Healthy(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, healthy)
	defer cancel()
	for {
		if p.answers(ctx) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s is not healthy: %w; it said %s", p.Name, ctx.Err(), p.lastWords())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (p *Process) answers(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.HTTP+p.health, nil)
	if err != nil {
		return false
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	defer func() { _ = res.Body.Close() }()
	return res.StatusCode == http.StatusOK
}

// PID of the running process; 0 while it is down.
func (p *Process) PID() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running == nil {
		return 0
	}
	return p.running.Process.Pid
}

// Fell lists when the process ended though nobody had ended it.
func (p *Process) Fell() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.fell...)
}

// LogFile holds what the process printed, over all its starts.
func (p *Process) LogFile() string { return filepath.Join(p.dir, "log", p.Name+".log") }

// lastWords is the last line of the log.
func (p *Process) lastWords() string {
	raw, err := os.ReadFile(p.LogFile())
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(raw)), "\n")
	return lines[len(lines)-1]
}
