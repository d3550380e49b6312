//go:build slow

package upgrade

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/sqldb"
)

// load asks questions without a pause and remembers what was accepted.
type load struct {
	c       *cluster
	clients []a2apb.A2AServiceClient
	stop    chan struct{}
	senders sync.WaitGroup

	mu     sync.Mutex
	ended  map[string]*a2apb.Task // by message id
	errors []string
}

func (c *cluster) load() *load {
	c.t.Helper()
	l := &load{c: c, stop: make(chan struct{}), ended: map[string]*a2apb.Task{}}
	for place := range 2 {
		conn, err := grpc.NewClient(fmt.Sprintf("127.0.0.1:%d", c.ports["gateway"][place].public), grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			c.t.Fatal(err)
		}
		c.t.Cleanup(func() { _ = conn.Close() })
		l.clients = append(l.clients, a2apb.NewA2AServiceClient(conn))
	}
	for s := range 3 {
		l.senders.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-l.stop:
					return
				default:
					l.ask(s+n, fmt.Sprintf("m-%d-%d", s, n))
				}
			}
		})
	}
	return l
}

// ask sends one question until it is answered, to the other gateway whenever one
// cannot take it: with the same message id, so it is one task.
func (l *load) ask(first int, messageID string) {
	req := &a2apb.SendMessageRequest{Message: &a2apb.Message{
		MessageId: messageID, Role: a2apb.Role_ROLE_USER, Parts: []*a2apb.Part{agent.Text("How often are backups of the customer database taken?")},
	}}
	for n, end := first, time.Now().Add(within); ; n++ {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		res, err := l.clients[n%2].SendMessage(metadata.AppendToOutgoingContext(ctx, "a2a-version", "1.0", "x-api-key", l.c.key), req)
		cancel()
		l.mu.Lock()
		switch code := status.Code(err); {
		case err == nil:
			l.ended[messageID] = res.GetTask()
			l.mu.Unlock()
			return
		case (code != codes.Unavailable && code != codes.DeadlineExceeded) || time.Now().After(end):
			l.errors = append(l.errors, err.Error())
			l.mu.Unlock()
			return
		}
		l.mu.Unlock()
		time.Sleep(20 * time.Millisecond)
	}
}

func (l *load) answered() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.ended) + len(l.errors)
}

// more waits until so many further questions have been answered.
func (l *load) more(n int) {
	l.c.t.Helper()
	want := l.answered() + n
	for end := time.Now().Add(within); l.answered() < want; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			l.c.t.Fatalf("%d questions answered, want %d", l.answered(), want)
		}
	}
}

func TestAReleaseIsReplacedWhileItWorks(t *testing.T) {
	before, next := oldRelease(t), nextRelease(t)
	c := newCluster(t)

	code, _, said := c.command(before, "planner", "serve", "-config", c.config("planner", 0))
	if code != 1 || !strings.Contains(said, "run planner migrate -config FILE first") {
		t.Fatalf("serve before migrate: exit code %d, %s", code, said)
	}
	c.migrate(before)
	_, key, said := c.command(before, "gateway", "keys", "create", "-config", c.config("gateway", 0), "-subject", "asha")
	if c.key = strings.TrimSpace(key); c.key == "" {
		t.Fatal(said)
	}
	for _, s := range services {
		c.start(before, s, 0)
	}
	l := c.load()
	l.more(10)

	c.migrate(next) // under the old release, which goes on
	l.more(10)
	for _, s := range services {
		c.start(next, s, 1)
	}
	l.more(20)
	c.kill("planner", 1) // in the middle of plans; the old one takes them over
	l.more(5)
	c.start(next, "planner", 1)
	for _, s := range services { // old planners call new agents, new ones old agents
		c.stop(s, 0)
		l.more(5)
	}

	// Back again: the older release on the newer schema, beside the newer.
	c.migrate(before)
	for _, s := range services {
		c.start(before, s, 0)
	}
	l.more(10)
	for _, s := range services {
		c.stop(s, 1)
	}
	l.more(10)
	close(l.stop)
	l.senders.Wait()
	l.check()
}

// check accounts for every question that was asked.
func (l *load) check() {
	t := l.c.t
	t.Helper()
	for _, e := range l.errors {
		t.Errorf("a question failed: %s", e)
	}
	plans := map[string]bool{}
	for id, task := range l.ended {
		text := ""
		for _, a := range task.GetArtifacts() {
			text += agent.TextOf(a.GetParts())
		}
		if task.GetStatus().GetState() != a2apb.TaskState_TASK_STATE_COMPLETED || !strings.Contains(text, "every six hours") {
			t.Errorf("%s: %v", id, task.GetStatus())
		}
		plans[task.GetId()] = true
	}
	if len(plans) != len(l.ended) {
		t.Errorf("%d questions became %d tasks", len(l.ended), len(plans))
	}
	// Every plan has one investigation and one validation, each with one audit row.
	for _, s := range []string{"planner", "research", "validator"} {
		db, err := sqldb.Open(t.Context(), l.c.database+"&search_path="+s)
		if err != nil {
			t.Fatal(err)
		}
		for _, rows := range []string{"tasks", "hops WHERE task_id <> ''"} {
			var roots, all int
			if err := db.Read.QueryRowContext(t.Context(), `SELECT COUNT(DISTINCT root_task_id), COUNT(*) FROM `+rows).Scan(&roots, &all); err != nil {
				t.Fatal(err)
			}
			if roots != len(plans) || all != roots {
				t.Errorf("%s has %d %s for %d of %d plans", s, all, rows, roots, len(plans))
			}
		}
		_ = db.Close()
	}
	t.Logf("%d plans, each done once", len(plans))
	db, err := sqldb.Open(t.Context(), l.c.database+"&search_path=planner")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	var older, newer int
	if err := db.Read.QueryRowContext(t.Context(), `SELECT COUNT(*) FILTER (WHERE version <> $1), COUNT(*) FILTER (WHERE version = $1) FROM plans`, nextVersion).Scan(&older, &newer); err != nil {
		t.Fatal(err)
	}
	if older == 0 || newer == 0 {
		t.Errorf("%d plans began with the older playbook and %d with the newer: both were wanted", older, newer)
	}
}
