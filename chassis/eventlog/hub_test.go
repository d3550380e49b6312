package eventlog_test

import (
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/proto"

	"sabha.dev/chassis/eventlog"
	"sabha.dev/testrig/natstest"
)

func subscribe(t testing.TB, h *eventlog.Hub, task string) *eventlog.Reader {
	t.Helper()
	r, err := h.Subscribe(task)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func next(t testing.TB, r *eventlog.Reader) eventlog.Update {
	t.Helper()
	select {
	case u := <-r.C:
		return u
	case <-time.After(30 * time.Second):
		t.Fatal("no update came")
		return eventlog.Update{}
	}
}

func TestTheHubHandsEachReaderItsTasksEvents(t *testing.T) {
	h := eventlog.NewHub(service, natstest.New(t).Connect(t))
	first, second, other := subscribe(t, h, "t1"), subscribe(t, h, "t1"), subscribe(t, h, "t2")
	events := []*a2apb.StreamResponse{event("a"), event("b")}
	h.Publish("t1", 3, 5, events)
	h.Publish("nobody reads this", 3, 5, events)
	for _, r := range []*eventlog.Reader{first, second} {
		for i, version := range []int64{4, 5} {
			if u := next(t, r); u.Version != version || u.Epoch != 3 || !proto.Equal(u.Event, events[i]) {
				t.Errorf("update %+v, want version %d", u, version)
			}
		}
	}
	select {
	case u := <-other.C:
		t.Errorf("the reader of another task got %+v", u)
	default:
	}
	first.Close()
	first.Close() // twice does no harm
	h.Publish("t1", 3, 6, events[:1])
	if u := next(t, second); u.Version != 6 {
		t.Errorf("update %+v", u)
	}
	if len(first.C) != 0 {
		t.Error("a closed reader still receives")
	}
}

func TestASlowReaderLosesUpdatesAndHoldsNobodyUp(t *testing.T) {
	h := eventlog.NewHub(service, natstest.New(t).Connect(t))
	slow := subscribe(t, h, "t1")
	const sent = 500
	for v := int64(1); v <= sent; v++ {
		h.Publish("t1", 1, v, []*a2apb.StreamResponse{event("x")})
	}
	held := len(slow.C)
	if held == 0 || held >= sent {
		t.Fatalf("the reader holds %d of %d updates", held, sent)
	}
	for v := int64(1); v <= int64(held); v++ {
		if u := next(t, slow); u.Version != v {
			t.Fatalf("version %d, want %d: what is held is in order", u.Version, v)
		}
	}
	if !slow.Behind() || slow.Behind() {
		t.Error("the reader is not told, once, that it fell behind")
	}
	h.Publish("t1", 1, sent+1, []*a2apb.StreamResponse{event("x")})
	if u := next(t, slow); u.Version != sent+1 {
		t.Errorf("version %d, want %d: the hole shows", u.Version, sent+1)
	}
}

func TestTheHubHearsWhatOthersCommit(t *testing.T) {
	server := natstest.New(t)
	h := eventlog.NewHub(service, server.Connect(t))
	reader := subscribe(t, h, "t1")
	elsewhere := server.Connect(t)
	log, b := open(t, elsewhere), newBox()
	b.put(commit(t, "t1", 2, 7, 8))
	// The reader's interest travels to the server beside the event: repeat until it is heard.
	if err := elsewhere.Flush(); err != nil {
		t.Fatal(err)
	}
	relaying(t, log, b)
	soon(t, "the reader hears of it", func() bool {
		if len(reader.C) == 0 {
			b.put(commit(t, "t1", 2, 7, 8))
		}
		return len(reader.C) >= 2
	})
	for _, version := range []int64{7, 8} {
		if u := next(t, reader); u.Version != version || u.Epoch != 2 || !proto.Equal(u.Event, event("7")) && version == 7 {
			t.Errorf("update %+v, want version %d", u, version)
		}
	}
	if err := elsewhere.Publish("sabha.events."+service+".t1", []byte("no bundle")); err != nil {
		t.Fatal(err)
	}
	if err := elsewhere.Publish("sabha.events."+service+".t1", nil); err != nil {
		t.Fatal(err)
	}
	b.put(commit(t, "t1", 2, 9))
	soon(t, "what follows is heard", func() bool {
		for len(reader.C) > 0 {
			if u := next(t, reader); u.Version == 9 {
				return true
			}
		}
		return false
	})
}
