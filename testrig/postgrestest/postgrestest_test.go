package postgrestest_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"sabha.dev/testrig/postgrestest"
)

var postgres postgrestest.Shared

func TestMain(m *testing.M) {
	if os.Getenv("POSTGRESTEST_DIE") != "" {
		os.Exit(runAndDie())
	}
	code := m.Run()
	if err := postgres.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatalf("connect to %s: %v", url, err)
	}
	t.Cleanup(func() { _ = conn.Close(t.Context()) })
	return conn
}

func count(t *testing.T, conn *pgx.Conn) int {
	t.Helper()
	var n int
	if err := conn.QueryRow(t.Context(), "SELECT count(*) FROM tasks").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func execute(t *testing.T, conn *pgx.Conn, query string) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), query); err != nil {
		t.Fatal(err)
	}
}

func TestEachDatabaseIsEmptyAndItsOwn(t *testing.T) {
	a, b := connect(t, postgres.URL(t)), connect(t, postgres.URL(t))
	execute(t, a, "CREATE TABLE tasks (id text)")
	execute(t, a, "INSERT INTO tasks VALUES ('one'), ('two')")
	execute(t, b, "CREATE TABLE tasks (id text)") // would clash in a shared database
	if got := count(t, a); got != 2 {
		t.Errorf("first database holds %d tasks, want 2", got)
	}
	if got := count(t, b); got != 0 {
		t.Errorf("second database holds %d tasks, want 0", got)
	}
}

func TestTextIsUnicode(t *testing.T) {
	conn := connect(t, postgres.URL(t))
	var got string
	if err := conn.QueryRow(t.Context(), "SELECT $1::text || ' ' || length($1::text)", "सभा").Scan(&got); err != nil {
		t.Fatal(err)
	}
	if want := "सभा 3"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestCommittedRowsOutliveACrash(t *testing.T) {
	postgres.Server(t) // leaves the test out where PostgreSQL is missing
	server, err := postgrestest.Run()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	url, err := server.Database(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	conn := connect(t, url)
	execute(t, conn, "CREATE TABLE tasks (id text)")
	execute(t, conn, "INSERT INTO tasks VALUES ('committed')")
	execute(t, conn, "BEGIN; INSERT INTO tasks VALUES ('open')")

	server.Stop()
	if _, err := pgx.Connect(t.Context(), url); err == nil {
		t.Fatal("a stopped server accepted a connection")
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err == nil {
		t.Fatal("a running server was started a second time")
	}
	if got := count(t, connect(t, url)); got != 1 {
		t.Errorf("%d tasks after the crash, want the committed one", got)
	}
}

func TestCloseRemovesTheFiles(t *testing.T) {
	postgres.Server(t)
	server, err := postgrestest.Run()
	if err != nil {
		t.Fatal(err)
	}
	dir := postgrestest.Folder(server)
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder %s is still there: %v", dir, err)
	}
}

func TestMissingProgramsAreSaid(t *testing.T) {
	if err := postgrestest.FindIn(t.TempDir()); !errors.Is(err, postgrestest.ErrMissing) {
		t.Errorf("got %v, want ErrMissing", err)
	}
}

// runAndDie starts a server, says where it is, and dies without closing it.
func runAndDie() int {
	server, err := postgrestest.Run()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Print(postgrestest.Folder(server))
	return 0
}

func TestServerEndsWithAProcessThatDiesWithoutClosingIt(t *testing.T) {
	postgres.Server(t)
	victim := exec.Command(os.Args[0])
	victim.Env = append(os.Environ(), "POSTGRESTEST_DIE=yes")
	victim.Stderr = os.Stderr
	out, err := victim.Output()
	if err != nil {
		t.Fatal(err)
	}
	dir := string(out)
	defer os.RemoveAll(dir)
	// The server removes its lock file as the last thing it does.
	lock := dir + "/data/postmaster.pid"
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat(lock); errors.Is(err, fs.ErrNotExist) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the server of a dead process still runs: %s is there", lock)
		}
	}
}
