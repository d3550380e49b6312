package command_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"sabha.dev/chassis/sqldb"
	"sabha.dev/cmd/sabha/internal/command"
	"sabha.dev/testrig/consoletest"
)

// documents is a folder that answers one question.
func documents(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "docs")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "guide.md"), []byte("# Guide\n\n## Leases\n\nA lease lasts 30 seconds.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestDemoAnswersWithSourcesAndLeavesNothing(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	u := newUser("")
	if code := u.run(t.Context(), "demo", "--docs", documents(t), "How long does a lease last?"); code != 0 {
		t.Fatalf("exit code %d: %s\n%s", code, u.err.String(), u.out.String())
	}
	got := u.out.String()
	for _, want := range []string{
		"\n» How long does a lease last?\n", "  investigate completed in ", "A lease lasts 30 seconds. [1]\n", "[1] guide.md › Guide › Leases (bytes ",
		"quoted from the sources, no model involved",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	left, err := os.ReadDir(os.Getenv("TMPDIR"))
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// stopping is a context that ends once a platform says that it is ready.
func stopping(t *testing.T, u *user) context.Context {
	ctx, stop := context.WithCancel(t.Context())
	t.Cleanup(stop)
	go func() {
		for !strings.Contains(u.out.String(), "Ctrl-C stops.\n") {
			select {
			case <-ctx.Done():
				return
			case <-time.After(10 * time.Millisecond):
			}
		}
		stop()
	}()
	return ctx
}

var keyForm = regexp.MustCompile(`sk-[0-9a-f]{64}`)

var passwordForm = regexp.MustCompile(`(?m)^  Name      admin\n  Password  (\S+)$`)

// consoleAddress is where up says that it serves the console.
func consoleAddress(t *testing.T, out string) string {
	t.Helper()
	found := regexp.MustCompile(`(?m)^  Console   (\S+)$`).FindStringSubmatch(out)
	if found == nil {
		t.Fatalf("no console in\n%s", out)
	}
	return found[1]
}

// up starts a platform on free ports, runs check while it serves, and stops it.
func up(t *testing.T, data string, check func(out string), more ...string) {
	t.Helper()
	u := newUser("")
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan command.Code, 1)
	args := append([]string{"up", "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0", "--console", "127.0.0.1:0", "--data", data}, more...)
	go func() { done <- u.run(ctx, args...) }()
	await(t, &u.out, "Ctrl-C stops.\n")
	check(u.out.String())
	stop()
	if code := <-done; code != 0 || u.err.String() != "Stopping; what runs goes on at the next start.\n" {
		t.Errorf("exit code %d: %q", code, u.err.String())
	}
}

func TestUpPrintsTheFirstKeyOnceAndServesIt(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	var key, task, password string
	up(t, data, func(out string) {
		keys := keyForm.FindAllString(out, -1)
		if len(keys) != 1 {
			t.Fatalf("%d keys in\n%s", len(keys), out)
		}
		key = keys[0]
		made := passwordForm.FindStringSubmatch(out)
		if made == nil {
			t.Fatalf("no password of the console in\n%s", out)
		}
		password = made[1]
		consoletest.SignIn(t, consoleAddress(t, out), "admin", password)
		asker := newUser(address(t, out))
		asker.env["SABHA_KEY"] = key
		if code := asker.run(t.Context(), "ask", "How long does a lease last?"); code != 0 || !strings.HasPrefix(asker.out.String(), "A lease lasts 30 seconds. [1]\n") {
			t.Errorf("exit code %d: %s%s", code, asker.out.String(), asker.err.String())
		}
		task = strings.Fields(asker.err.String())[2]
		auditor := newUser(address(t, out))
		if code := auditor.run(t.Context(), "audit", "show", task, "--key", key); code != 0 || !strings.Contains(auditor.out.String(), "gateway → planner/plan-and-run") {
			t.Errorf("exit code %d: %s%s", code, auditor.out.String(), auditor.err.String())
		}
		stranger := newUser(address(t, out))
		if code := stranger.run(t.Context(), "ask", "How long?"); code != command.ExitDenied {
			t.Errorf("exit code %d without a key: %s", code, stranger.err.String())
		}
		if code := stranger.run(t.Context(), "card", address(t, out)); code != 0 {
			t.Errorf("the platform's own card is not valid: %s", stranger.out.String())
		}
	}, "--docs", documents(t))
	up(t, data, func(out string) {
		if keyForm.MatchString(out) || strings.Contains(out, "Password") {
			t.Errorf("a key or a password is printed again:\n%s", out)
		}
		consoletest.SignIn(t, consoleAddress(t, out), "admin", password)
		reader := newUser(address(t, out))
		if code := reader.run(t.Context(), "task", "get", task, "--key", key); code != 0 || !strings.Contains(reader.out.String(), "State     completed\n") {
			t.Errorf("exit code %d: %s%s", code, reader.out.String(), reader.err.String())
		}
	}, "--docs", "")
}

// address is where up says that it serves HTTP.
func address(t *testing.T, out string) string {
	t.Helper()
	a := regexp.MustCompile(`http://127\.0\.0\.1:\d+`).FindString(out)
	if a == "" {
		t.Fatalf("no address in\n%s", out)
	}
	return a
}

func TestUpSaysWhichPortIsTaken(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	for flag, what := range map[string]string{"--http": "HTTP", "--grpc": "gRPC", "--console": "the console"} {
		u := newUser("")
		args := map[string]string{"--http": "127.0.0.1:0", "--grpc": "127.0.0.1:0", "--console": "127.0.0.1:0", "--docs": "", "--data": t.TempDir()}
		args[flag] = l.Addr().String()
		line := []string{"up"}
		for f, v := range args {
			line = append(line, f, v)
		}
		// Should it start all the same, it stops at once.
		if code := u.run(stopping(t, u), line...); code != command.ExitFailure {
			t.Errorf("%s: exit code %d", flag, code)
		}
		want := "sabha: port " + port + " is taken, so " + what + " cannot be served on it\nStop what uses it, or choose another: sabha up " + flag + " :"
		if got := u.err.String(); !strings.HasPrefix(got, want) || strings.Count(got, "\n") != 2 {
			t.Errorf("%s: got\n%s\nwant\n%s", flag, got, want)
		}
	}
}

func TestUpRefusesDataOfANewerRelease(t *testing.T) {
	data := t.TempDir()
	up(t, data, func(string) {}, "--docs", "")
	db, err := sqldb.Open(t.Context(), "sqlite:"+filepath.Join(data, "planner.db"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Write.ExecContext(t.Context(), `INSERT INTO goose_planner (version_id, is_applied) VALUES (999, 1)`); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	u := newUser("")
	code := u.run(t.Context(), "up", "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0", "--console", "127.0.0.1:0", "--docs", "", "--data", data)
	want := "sabha: the data folder " + data + " was written by a newer release than this one; nothing in it was changed\n" +
		"Run that release, restore a backup made by this one, or name another folder with --data\n"
	if code != command.ExitFailure || u.err.String() != want {
		t.Errorf("exit code %d, got\n%s\nwant\n%s", code, u.err.String(), want)
	}
}

func TestUpRefusesAMissingDocumentsFolder(t *testing.T) {
	u := newUser("")
	code := u.run(t.Context(), "up", "--docs", "/no/where", "--data", t.TempDir(), "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0", "--console", "127.0.0.1:0")
	if want := "sabha: the documents folder /no/where does not exist\nMake it, or name another with --docs\n"; code != command.ExitFailure || u.err.String() != want {
		t.Errorf("exit code %d, got %q, want %q", code, u.err.String(), want)
	}
}

func TestUpRefusesAFolderInUse(t *testing.T) {
	data := t.TempDir()
	up(t, data, func(string) {
		u := newUser("")
		code := u.run(t.Context(), "up", "--docs", "", "--data", data, "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0", "--console", "127.0.0.1:0")
		if code != command.ExitFailure || !strings.Contains(u.err.String(), "is in use by another sabha") || strings.Count(u.err.String(), "\n") != 1 {
			t.Errorf("exit code %d: %q", code, u.err.String())
		}
	}, "--docs", "")
}

func TestUpRefusesAReviewPolicyThatIsWrong(t *testing.T) {
	file := filepath.Join(t.TempDir(), "reviews.yaml")
	const policy = "owner: desk\nreview_date: 2027-01-31\nversion: 1\nqueues:\n  general: {due: 8h}\ndefault: generl\n"
	if err := os.WriteFile(file, []byte(policy), 0o600); err != nil {
		t.Fatal(err)
	}
	u := newUser("")
	code := u.run(t.Context(), "up", "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0", "--console", "127.0.0.1:0",
		"--data", filepath.Join(t.TempDir(), "data"), "--review-policy", file)
	if want := file + `:6: default: unknown queue "generl" (did you mean "general"?)`; code == 0 || !strings.Contains(u.err.String(), want) {
		t.Errorf("exit code %d: %q, want %q", code, u.err.String(), want)
	}
}
