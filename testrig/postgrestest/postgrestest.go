// Package postgrestest runs a private PostgreSQL server for the tests of one
// process, reachable over a unix socket only, with a fresh database for each
// test that asks.
//
// A test package owns one server:
//
//	var postgres postgrestest.Shared
//
//	func TestMain(m *testing.M) {
//		code := m.Run()
//		postgres.Close()
//		os.Exit(code)
//	}
//
//	func TestStore(t *testing.T) {
//		db, err := sql.Open("pgx", postgres.URL(t))
//		...
//	}
package postgrestest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// startup bounds the wait for the server to accept connections. It is generous,
// because it is reached only when something is broken.
const startup = time.Minute

// superuser is the role that owns every database; connections need no password.
const superuser = "postgres"

// Server is a PostgreSQL server with its own data folder. Unless it is made durable
// its files are not synchronised to disk: what it holds outlives a killed server,
// not the machine.
type Server struct {
	programs programs
	dir      string // the data folder and the socket are in it
	settings []string
	port     int // of the socket's name; 0 for PostgreSQL's own

	mu        sync.Mutex
	process   *exec.Cmd      // nil while stopped
	lifeline  io.WriteCloser // the server stops when it is closed
	exited    chan struct{}  // closed when process has ended
	databases int
}

// Run creates a data folder and starts a server on it. The error is ErrMissing
// when PostgreSQL is not installed. The caller closes the server.
func Run() (*Server, error) { return run(func(*Server) error { return nil }) }

// RunDurable is Run with commits that are synchronised to disk, as PostgreSQL does
// unless told otherwise: for measurements.
func RunDurable() (*Server, error) {
	return run(func(s *Server) error {
		s.settings = append(s.settings, "fsync=on", "full_page_writes=on")
		return nil
	})
}

// run creates a server, has it prepared, and starts it.
func run(prepare func(*Server) error) (*Server, error) {
	found, err := findPrograms()
	if err != nil {
		return nil, err
	}
	// Not in a folder of the test: the path of a socket has at most 107 bytes.
	dir, err := os.MkdirTemp("", "sabha-pg-")
	if err != nil {
		return nil, err
	}
	s := &Server{programs: found, dir: dir}
	if err := s.create(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if err := prepare(s); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if err := s.Start(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Server) create() error {
	attributes, err := unprivileged(s.dir)
	if err != nil {
		return err
	}
	initdb := exec.Command(
		s.programs.initdb, "--pgdata="+s.data(), "--username="+superuser,
		"--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync", "--no-instructions",
	)
	initdb.Dir, initdb.SysProcAttr = s.dir, attributes
	if out, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	return nil
}

// onLifeline runs the server as the process itself and beside it a reader of
// standard input, which ends with this process however that dies; then the
// server gets the signal for an immediate shutdown.
const onLifeline = `exec 3<&0; (read -r _ <&3; kill -QUIT $$) & exec "$@" </dev/null`

// Start starts a stopped server with what its data folder holds, and returns
// when it accepts connections.
func (s *Server) Start() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process != nil {
		return errors.New("the PostgreSQL server runs already")
	}
	attributes, err := unprivileged(s.dir)
	if err != nil {
		return err
	}
	log, err := os.OpenFile(s.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	args := []string{
		"-c", onLifeline, "sh", s.programs.postgres, "-D", s.data(),
		"-c", "listen_addresses=", "-c", "unix_socket_directories=" + s.dir,
		// Commits are still written before they are confirmed, so Stop loses none.
		"-c", "fsync=off", "-c", "full_page_writes=off",
		"-c", "max_connections=300",
	}
	for _, setting := range s.settings {
		args = append(args, "-c", setting)
	}
	process := exec.Command("sh", args...)
	process.Dir, process.SysProcAttr = s.dir, attributes
	process.Stdout, process.Stderr = log, log
	lifeline, err := process.StdinPipe()
	if err != nil {
		return err
	}
	if err := process.Start(); err != nil {
		return fmt.Errorf("start postgres: %w", err)
	}
	s.process, s.lifeline, s.exited = process, lifeline, make(chan struct{})
	go func(exited chan<- struct{}) {
		_ = process.Wait() // its exit status says nothing that its log does not
		close(exited)
	}(s.exited)
	if err := s.awaitReady(); err != nil {
		s.stop()
		return err
	}
	return nil
}

func (s *Server) awaitReady() error {
	ctx, cancel := context.WithTimeout(context.Background(), startup)
	defer cancel()
	for {
		conn, err := pgx.Connect(ctx, s.url("postgres"))
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-s.exited:
			return fmt.Errorf("postgres ended while starting:\n%s", s.log())
		case <-ctx.Done():
			return fmt.Errorf("postgres did not accept connections within %v: %w\n%s", startup, err, s.log())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Stop ends the server at once, as a crash of all its processes does: open
// transactions are lost, committed ones are there after Start. Stopping a
// stopped server does nothing.
func (s *Server) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stop()
}

func (s *Server) stop() {
	if s.process == nil {
		return
	}
	_ = s.lifeline.Close()
	<-s.exited
	s.process = nil
}

// Close stops the server and removes its folder.
func (s *Server) Close() error {
	s.Stop()
	return os.RemoveAll(s.dir)
}

// Database creates an empty database and returns its URL, as pgx takes it.
func (s *Server) Database(ctx context.Context) (string, error) {
	s.mu.Lock()
	s.databases++
	name := fmt.Sprintf("test_%d", s.databases)
	s.mu.Unlock()
	conn, err := pgx.Connect(ctx, s.url("postgres"))
	if err != nil {
		return "", err
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, "CREATE DATABASE "+name+" TEMPLATE template0"); err != nil {
		return "", fmt.Errorf("create database %s: %w", name, err)
	}
	return s.url(name), nil
}

func (s *Server) url(database string) string {
	url := fmt.Sprintf("postgres://%s@/%s?host=%s&sslmode=disable", superuser, database, s.dir)
	if s.port != 0 {
		url += fmt.Sprintf("&port=%d", s.port)
	}
	return url
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

func (s *Server) logFile() string { return filepath.Join(s.dir, "log") }

// log is the end of what the server has written.
func (s *Server) log() string {
	text, err := os.ReadFile(s.logFile())
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-20):], "\n")
}
