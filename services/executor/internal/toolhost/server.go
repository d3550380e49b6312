package toolhost

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// grace is how long a server may take to end by itself once its input is closed.
const grace = 2 * time.Second

// server is one process and the session with it.
type server struct {
	cmd     *exec.Cmd
	input   io.Closer
	session *mcp.ClientSession
	exited  chan struct{} // closed when the process and its group are gone
	lost    chan struct{} // closed when the session is over
	broken  atomic.Bool   // a call found the session over; lost may close a little later
	tools   atomic.Pointer[map[string]*checked]
}

// start runs the command in a process group of its own and opens a session.
func start(ctx context.Context, config Config, client *mcp.Client, log *slog.Logger) (*server, error) {
	cmd := exec.Command(config.Command[0], config.Command[1:]...)
	cmd.Dir = config.Dir
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH")}, config.Env...)
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

	s := &server{cmd: cmd, input: stdin, exited: make(chan struct{}), lost: make(chan struct{})}
	s.tools.Store(&map[string]*checked{})
	go logLines(stderr, log)
	go func() {
		_ = cmd.Wait() // how it ended shows in the calls
		s.kill()       // and what it started ends with it
		close(s.exited)
	}()

	session, err := client.Connect(ctx, &mcp.IOTransport{Reader: stdout, Writer: stdin, MaxLineLength: config.MaxMessage}, nil)
	if err != nil {
		s.kill()
		<-s.exited
		closeAll(stdin, stdout)
		return nil, err
	}
	s.session = session
	go func() {
		_ = session.Wait()
		close(s.lost)
	}()
	return s, nil
}

func closeAll(files ...*os.File) {
	for _, f := range files {
		if f != nil {
			_ = f.Close()
		}
	}
}

// kill ends every process of the group at once.
func (s *server) kill() { _ = syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL) }

func (s *server) ended() bool {
	if s.broken.Load() {
		return true
	}
	select {
	case <-s.exited:
		return true
	case <-s.lost:
		return true
	default:
		return false
	}
}

// stop closes the server's input, gives it a moment, and ends its group. A server
// that can no longer be spoken to gets no moment.
func (s *server) stop() {
	_ = s.input.Close()
	select {
	case <-s.exited:
	case <-s.lost:
		s.kill()
	case <-time.After(grace):
		s.kill()
	}
	<-s.exited
	_ = s.session.Close()
}

// list reads the server's tools, all pages.
func (s *server) list(ctx context.Context) error {
	tools := map[string]*checked{}
	for t, err := range s.session.Tools(ctx, nil) {
		if err != nil {
			return err
		}
		if _, twice := tools[t.Name]; twice {
			return fmt.Errorf("two tools are called %q", t.Name)
		}
		tools[t.Name] = check(t)
	}
	s.tools.Store(&tools)
	return nil
}

func (s *server) tool(name string) (*checked, error) {
	tools := *s.tools.Load()
	t, ok := tools[name]
	if !ok {
		unknown := &UnknownTool{Name: name}
		for n := range tools {
			unknown.Known = append(unknown.Known, n)
		}
		slices.Sort(unknown.Known)
		return nil, unknown
	}
	return t, t.err
}

// logLines passes on what the server writes to its standard error, line by line,
// long lines in pieces.
func logLines(stderr *os.File, log *slog.Logger) {
	defer func() { _ = stderr.Close() }()
	r := bufio.NewReaderSize(stderr, 4096)
	for {
		line, _, err := r.ReadLine()
		if len(line) > 0 {
			log.Info("MCP server wrote", "line", string(line))
		}
		if err != nil {
			return
		}
	}
}
