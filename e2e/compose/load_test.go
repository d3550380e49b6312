//go:build compose

package compose

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// workers ask at the same time, each with a pause after its plan, so that what is
// tested is what is lost and not what the machine can bear.
const (
	workers = 4
	pause   = 100 * time.Millisecond
)

// most bounds the plans of a load, however long it is needed.
const most = 5000

// load asks question after question until it is told to stop, each until it has
// its answer: what fails for want of a replica is sent again, as the same message,
// to the other gateway.
type load struct {
	t       *testing.T
	clients [2]a2apb.A2AServiceClient
	stop    chan struct{}
	all     sync.WaitGroup

	next    atomic.Int64
	ended   atomic.Int64
	retried atomic.Int64

	mu       sync.Mutex
	accepted map[string]string // task by message
	terminal map[string]string // state by task
}

func start(t *testing.T) *load {
	t.Helper()
	l := &load{t: t, stop: make(chan struct{}), accepted: map[string]string{}, terminal: map[string]string{}}
	for i := range l.clients {
		l.clients[i] = a2apb.NewA2AServiceClient(gateways[i])
	}
	for range workers {
		l.all.Go(l.work)
	}
	return l
}

func (l *load) work() {
	for {
		select {
		case <-l.stop:
			return
		case <-time.After(pause):
		}
		n := int(l.next.Add(1))
		if n > most {
			return
		}
		l.plan(n)
	}
}

// plan has one plan accepted and waits for its end: every other one in the call
// that sends it, the rest by asking for its state at either gateway.
func (l *load) plan(n int) {
	m := message(fmt.Sprintf("load-%d", n), question)
	m.Configuration.ReturnImmediately = n%2 == 0
	for end, at := time.Now().Add(within), n; time.Now().Before(end); at++ {
		task, err := l.step(l.clients[at%2], m)
		if err != nil {
			if !passing(err) {
				l.t.Errorf("plan %d: %v", n, err)
				return
			}
			l.retried.Add(1)
			time.Sleep(100 * time.Millisecond)
			continue
		}
		switch task.GetStatus().GetState() {
		case a2apb.TaskState_TASK_STATE_COMPLETED, a2apb.TaskState_TASK_STATE_FAILED, a2apb.TaskState_TASK_STATE_CANCELED, a2apb.TaskState_TASK_STATE_REJECTED:
			l.mu.Lock()
			l.terminal[task.GetId()] = state(task)
			l.mu.Unlock()
			l.ended.Add(1)
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	l.t.Errorf("plan %d has not ended within %v", n, within)
}

// passing tells whether an error is one that a client sends its call again after.
// What else it may be told while parts are away, it could not act on.
func passing(err error) bool {
	c := status.Code(err)
	return c == codes.Unavailable || c == codes.DeadlineExceeded
}

// step sends the message if no task is known of it yet, else it asks for the task.
func (l *load) step(client a2apb.A2AServiceClient, m *a2apb.SendMessageRequest) (*a2apb.Task, error) {
	ctx, cancel := caller(context.Background(), 30*time.Second)
	defer cancel()
	id := m.GetMessage().GetMessageId()
	l.mu.Lock()
	known := l.accepted[id]
	l.mu.Unlock()
	if known != "" {
		return client.GetTask(ctx, &a2apb.GetTaskRequest{Id: known})
	}
	res, err := client.SendMessage(ctx, m)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	l.accepted[id] = res.GetTask().GetId()
	l.mu.Unlock()
	return res.GetTask(), nil
}

// goesOn waits until n more plans have ended.
func (l *load) goesOn(n int64) {
	l.t.Helper()
	want := l.ended.Load() + n
	await(l.t, fmt.Sprintf("%d more plans have ended", n), func() bool { return l.ended.Load() >= want })
}

// end lets the plans that run end, and no more begin.
func (l *load) end() {
	close(l.stop)
	l.all.Wait()
}
