package toolhost

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"sabha.dev/chassis/clock"
)

// grace is how long a server may take to end by itself once its input is closed.
const grace = 2 * time.Second

// wire is a connection to a server while it is there.
type wire struct {
	transport mcp.Transport
	frames    *frames
	// gone is closed when nothing is there to speak to any more; nil where only the session tells.
	gone <-chan struct{}
	// stop ends what the server runs as; lost is closed when the session with it is over.
	stop func(lost <-chan struct{})
}

// start runs the command in a process group of its own.
func (p *Process) start(_ context.Context, f *frames, log *slog.Logger) (*wire, error) {
	cmd := exec.Command(p.Command[0], p.Command[1:]...)
	cmd.Dir = p.Dir
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH")}, p.Env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}

	// The pipes are ours and not of exec.Cmd, so that Wait returns when the process
	// ends even if a child of it keeps them open.
	var pipes [6]*os.File
	for i := 0; i < len(pipes); i += 2 {
		r, w, err := os.Pipe()
		if err != nil {
			closeAll(pipes[:]...)
			return nil, err
		}
		pipes[i], pipes[i+1] = r, w
	}
	stdin, stdout, stderr := pipes[1], pipes[2], pipes[4]
	cmd.Stdin, cmd.Stdout, cmd.Stderr = pipes[0], pipes[3], pipes[5]
	if err := cmd.Start(); err != nil {
		closeAll(pipes[:]...)
		return nil, err
	}
	closeAll(pipes[0], pipes[3], pipes[5])
	// kill ends every process of the group at once.
	kill := func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	exited := make(chan struct{})
	go logLines(stderr, f.clock, log)
	go func() {
		_ = cmd.Wait() // how it ended shows in the calls
		kill()         // and what it started ends with it
		close(exited)
	}()
	return &wire{
		transport: &mcp.IOTransport{Reader: f.reader(stdout), Writer: &writer{stdin, f}, MaxLineLength: f.max + 4096},
		frames:    f, gone: exited,
		// A server that can no longer be spoken to gets no grace.
		stop: func(lost <-chan struct{}) {
			_ = stdin.Close()
			select {
			case <-exited:
			case <-lost:
				kill()
			case <-time.After(grace):
				kill()
			}
			<-exited
			_ = stdout.Close()
		},
	}, nil
}

func closeAll(files ...*os.File) {
	for _, f := range files {
		if f != nil {
			_ = f.Close()
		}
	}
}

// Bounds of what is logged of a server's standard error: bytes of a line, lines at once,
// and bytes from one moment to the next.
const (
	maxLogLine  = 1000
	maxLogBytes = 64 << 10
	logWindow   = 10 * time.Second
)

// logLines passes on what the server writes to its standard error, line by line, long
// lines cut, and counts what is too much.
func logLines(stderr io.ReadCloser, c clock.Clock, log *slog.Logger) {
	defer func() { _ = stderr.Close() }()
	r := bufio.NewReaderSize(stderr, 4096)
	var (
		window  time.Time
		written int
		dropped int
	)
	for {
		text, more, err := r.ReadLine()
		if now := c.Now(); now.Sub(window) > logWindow {
			if dropped > 0 {
				log.Warn("MCP server wrote more than is logged", "bytes", dropped)
			}
			window, written, dropped = now, 0, 0
		}
		switch {
		case len(text) == 0:
		case written > maxLogBytes:
			dropped += len(text)
		default:
			written += len(text)
			log.Info("MCP server wrote", "line", clip(string(text), maxLogLine))
		}
		for more && err == nil { // the rest of a long line
			text, more, err = r.ReadLine()
			dropped += len(text)
		}
		if err != nil {
			return
		}
	}
}
