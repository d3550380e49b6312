package replicas

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/proto"
)

// Every node is restarted in turn while clients work. Those at gateways that stay
// notice nothing; those whose gateway goes ask another and lose nothing.
func TestARollingRestartLosesNothing(t *testing.T) {
	onBothEngines(t, func(t *testing.T, f *fleet) {
		l := &load{fleet: f, stop: make(chan struct{}), ids: map[string]string{}}
		l.gone.Store(-1)
		for i := range 3 {
			l.work.Go(func() { l.plans(i) })
		}
		l.work.Go(l.watched)
		for n := range f.nodes {
			l.leave(n)
			f.stop(n)
			f.start(n)
			l.gone.Store(-1)
			l.await(10)
		}
		close(l.stop)
		l.work.Wait()
		c := f.client(0, "grpc")
		for message, id := range l.ids {
			if got := f.get(c, "", id); state(got) != "COMPLETED" {
				t.Errorf("message %s, task %s: %s %q", message, id, state(got), note(got))
			}
		}
		if len(l.unexpected) > 0 {
			t.Errorf("clients of gateways that stayed saw %d errors: %s", len(l.unexpected), l.unexpected[0])
		}
		steps := map[string]int{}
		for _, e := range executions(f.dir) {
			steps[e[2]]++
		}
		again := 0
		for _, n := range steps {
			again += n - 1
		}
		t.Logf("%d plans and %d watched tasks; %d executions were begun again; clients of gateways that went saw %d errors", len(l.ids), l.follows, again, l.expected)
	})
}

// load is clients at work.
type load struct {
	*fleet
	work sync.WaitGroup
	stop chan struct{}
	// gone is the node that is on its way out or away; -1 while there is none.
	gone atomic.Int64
	done atomic.Int64

	mu         sync.Mutex
	ids        map[string]string // task by message
	unexpected []string
	expected   int
	follows    int
}

func (l *load) leave(n int) {
	l.gone.Store(int64(n))
	l.await(10) // what is sent from now on goes to others, some of it through what is about to go
}

// await lets clients finish some more.
func (l *load) await(more int64) {
	l.Helper()
	from := l.done.Load()
	l.soon("the clients get on", func() bool { return l.done.Load() >= from+more })
}

// stays is a gateway that is not about to go.
func (l *load) stays(i int) int {
	for n := i % len(l.nodes); ; n = (n + 1) % len(l.nodes) {
		if int64(n) != l.gone.Load() {
			return n
		}
	}
}

// plans sends plans, each until it is answered: a client whose gateway goes sends
// the same message to another.
func (l *load) plans(i int) {
	binding := bindings[i%len(bindings)]
	for round := 0; ; round++ {
		select {
		case <-l.stop:
			return
		default:
		}
		req := planned(quick)
		for try := 0; ; try++ {
			n := l.stays(i + round + try)
			res := &a2apb.SendMessageResponse{}
			err := l.client(n, binding).call(l.ctx(), "SendMessage", proto.CloneOf(req), res)
			l.mu.Lock()
			switch {
			case err == nil:
				l.ids[req.GetMessage().GetMessageId()] = res.GetTask().GetId()
			case l.gone.Load() == int64(n):
				l.expected++
			default:
				l.unexpected = append(l.unexpected, fmt.Sprintf("node %d, %s: %v", n, binding, err))
			}
			l.mu.Unlock()
			if err == nil || try > 100 {
				break
			}
		}
		l.done.Add(1)
	}
}

// watched follows tasks through gateways that stay.
func (l *load) watched() {
	for round := 0; ; round++ {
		select {
		case <-l.stop:
			return
		default:
		}
		turn := round
		res := &a2apb.SendMessageResponse{}
		if err := l.client(l.stays(round), "rest").call(l.ctx(), "SendMessage", atOnce(told(count)), res); err != nil {
			l.mu.Lock()
			l.unexpected = append(l.unexpected, err.Error())
			l.mu.Unlock()
			continue
		}
		w := l.follow(l.ctx(), workerName, res.GetTask().GetId(), func() client {
			turn++
			return l.client(l.stays(turn), bindings[turn%len(bindings)])
		}, 200)
		if got := w.seen(); got != "COMPLETED" {
			l.Errorf("a subscriber saw %s", got)
		}
		for _, err := range w.breaks {
			if text := err.Error(); !strings.Contains(text, "UNAVAILABLE") && !strings.Contains(text, "Unavailable") && !strings.Contains(text, "EOF") {
				l.Errorf("a stream ended with %v", err)
			}
		}
		l.mu.Lock()
		l.follows++
		l.mu.Unlock()
	}
}
