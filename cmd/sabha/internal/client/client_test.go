package client_test

import (
	"errors"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"sabha.dev/chassis/clock"
	"sabha.dev/chassis/fault"
	"sabha.dev/cmd/sabha/internal/client"
	"sabha.dev/cmd/sabha/internal/rig"
)

// hasty is a clock on which no wait takes time.
type hasty struct{ clock.System }

func (hasty) After(time.Duration) <-chan time.Time {
	due := make(chan time.Time, 1)
	due <- time.Time{}
	return due
}

func dial(t *testing.T, address, key string, notice func(string)) *client.Client {
	t.Helper()
	server, err := client.ParseServer(address)
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.Dial(t.Context(), client.Options{Server: server, Key: key, Clock: hasty{}, Notice: notice})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func task(id string, s a2apb.TaskState) *a2apb.Task {
	return &a2apb.Task{Id: id, Status: &a2apb.TaskStatus{State: s}}
}

func snapshot(s a2apb.TaskState) *a2apb.StreamResponse {
	return &a2apb.StreamResponse{Payload: &a2apb.StreamResponse_Task{Task: task("t1", s)}}
}

func update(s a2apb.TaskState) *a2apb.StreamResponse {
	return &a2apb.StreamResponse{Payload: &a2apb.StreamResponse_StatusUpdate{StatusUpdate: &a2apb.TaskStatusUpdateEvent{
		TaskId: "t1", Status: &a2apb.TaskStatus{State: s},
	}}}
}

const (
	submitted = a2apb.TaskState_TASK_STATE_SUBMITTED
	working   = a2apb.TaskState_TASK_STATE_WORKING
	completed = a2apb.TaskState_TASK_STATE_COMPLETED
	waiting   = a2apb.TaskState_TASK_STATE_INPUT_REQUIRED
)

// read collects the states of a sequence and its error.
func read(seq iter.Seq2[*a2apb.StreamResponse, error]) ([]a2apb.TaskState, error) {
	var states []a2apb.TaskState
	for e, err := range seq {
		if err != nil {
			return states, err
		}
		if t := e.GetTask(); t != nil {
			states = append(states, t.GetStatus().GetState())
		}
		if u := e.GetStatusUpdate(); u != nil {
			states = append(states, u.GetStatus().GetState())
		}
	}
	return states, nil
}

func TestAskSendsKeyAndVersionAndReadsToTheEnd(t *testing.T) {
	p := rig.Start(t, rig.Script{Send: func(m *a2apb.Message, _ metadata.MD, yield func(*a2apb.StreamResponse) error) error {
		if m.GetMessageId() != "m1" {
			t.Errorf("message id %q", m.GetMessageId())
		}
		return errors.Join(yield(snapshot(submitted)), yield(update(working)), yield(update(completed)))
	}})
	got, err := read(dial(t, p.URL, "sk-1", nil).Ask(t.Context(), &a2apb.Message{MessageId: "m1"}))
	if err != nil || !slices.Equal(got, []a2apb.TaskState{submitted, working, completed}) {
		t.Errorf("got %v, %v", got, err)
	}
	md := p.Seen()[0]
	if v := md.Get("a2a-version"); !slices.Equal(v, []string{"1.0"}) {
		t.Errorf("a2a-version %q", v)
	}
	if v := md.Get("x-api-key"); !slices.Equal(v, []string{"sk-1"}) {
		t.Errorf("x-api-key %q", v)
	}
}

func TestALostStreamIsTakenUpFromItsCursor(t *testing.T) {
	var subscribed atomic.Int32
	var cursors [3]atomic.Value
	p := rig.Start(t, rig.Script{
		Send: func(_ *a2apb.Message, _ metadata.MD, yield func(*a2apb.StreamResponse) error) error {
			return errors.Join(yield(rig.WithCursor(snapshot(submitted), "1.1")), yield(rig.WithCursor(update(working), "1.2")),
				fault.New(fault.Unavailable, "going down"))
		},
		Subscribe: func(id, cursor string, yield func(*a2apb.StreamResponse) error) error {
			n := subscribed.Add(1)
			cursors[n-1].Store(id + " " + cursor)
			switch n {
			case 1:
				return fault.New(fault.Unavailable, "not up yet")
			case 2:
				// A stream may also just end.
				return yield(rig.WithCursor(update(working), "1.3"))
			}
			return yield(rig.WithCursor(update(completed), "1.4"))
		},
	})
	var notices []string
	got, err := read(dial(t, p.URL, "", func(s string) { notices = append(notices, s) }).Ask(t.Context(), &a2apb.Message{MessageId: "m1"}))
	if err != nil || !slices.Equal(got, []a2apb.TaskState{submitted, working, working, completed}) {
		t.Errorf("got %v, %v", got, err)
	}
	for i, want := range []string{"t1 1.2", "t1 1.2", "t1 1.3"} {
		if c := cursors[i].Load(); c != want {
			t.Errorf("subscription %d asked for %v, want %q", i+1, c, want)
		}
	}
	if len(notices) != 2 || !strings.Contains(notices[0], "the task goes on") {
		t.Errorf("notices %q", notices)
	}
}

func TestAStreamThatStaysLostEndsWithTheReason(t *testing.T) {
	p := rig.Start(t, rig.Script{
		Send: func(_ *a2apb.Message, _ metadata.MD, yield func(*a2apb.StreamResponse) error) error {
			return errors.Join(yield(snapshot(working)), fault.New(fault.Unavailable, "going down"))
		},
		Subscribe: func(string, string, func(*a2apb.StreamResponse) error) error {
			return fault.New(fault.Unavailable, "still down")
		},
	})
	got, err := read(dial(t, p.URL, "", func(string) {}).Ask(t.Context(), &a2apb.Message{}))
	if status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "still down") || len(got) != 1 {
		t.Errorf("got %v, %v", got, err)
	}
	if calls := len(p.Seen()); calls != 11 {
		t.Errorf("%d calls, want one and ten more", calls)
	}
}

func TestAskDoesNotRepeatWhatTheServerRefuses(t *testing.T) {
	p := rig.Start(t, rig.Script{Send: func(*a2apb.Message, metadata.MD, func(*a2apb.StreamResponse) error) error {
		return fault.New(fault.Unavailable, "screening cannot be reached")
	}})
	if _, err := read(dial(t, p.URL, "", nil).Ask(t.Context(), &a2apb.Message{})); status.Code(err) != codes.Unavailable {
		t.Errorf("got %v", err)
	}
	if calls := len(p.Seen()); calls != 1 {
		t.Errorf("%d calls", calls)
	}
}

func TestAMessageToAFinishedTaskIsRefusedNotShown(t *testing.T) {
	p := rig.Start(t, rig.Script{
		Send: func(*a2apb.Message, metadata.MD, func(*a2apb.StreamResponse) error) error {
			return fault.New(fault.UnsupportedOperation, "task t1 has ended")
		},
		Get: func(string) (*a2apb.Task, error) { return task("t1", completed), nil },
	})
	got, err := read(dial(t, p.URL, "", nil).Ask(t.Context(), &a2apb.Message{TaskId: "t1"}))
	if status.Code(err) != codes.FailedPrecondition || len(got) != 0 {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestWatchShowsAFinishedTask(t *testing.T) {
	p := rig.Start(t, rig.Script{
		Subscribe: func(string, string, func(*a2apb.StreamResponse) error) error {
			return fault.New(fault.UnsupportedOperation, "task t1 has ended")
		},
		Get: func(id string) (*a2apb.Task, error) { return task(id, completed), nil },
	})
	got, err := read(dial(t, p.URL, "", nil).Watch(t.Context(), "t1"))
	if err != nil || !slices.Equal(got, []a2apb.TaskState{completed}) {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestAskEndsWhereInputIsRequired(t *testing.T) {
	p := rig.Start(t, rig.Script{Send: func(_ *a2apb.Message, _ metadata.MD, yield func(*a2apb.StreamResponse) error) error {
		return errors.Join(yield(snapshot(working)), yield(update(waiting)))
	}})
	got, err := read(dial(t, p.URL, "", nil).Ask(t.Context(), &a2apb.Message{}))
	if err != nil || !slices.Equal(got, []a2apb.TaskState{working, waiting}) {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestListReadsPagesUpToTheLimit(t *testing.T) {
	p := rig.Start(t, rig.Script{List: func(req *a2apb.ListTasksRequest) (*a2apb.ListTasksResponse, error) {
		res := &a2apb.ListTasksResponse{TotalSize: 500, NextPageToken: req.GetPageToken() + "x"}
		for range req.GetPageSize() {
			res.Tasks = append(res.Tasks, task("t", completed))
		}
		return res, nil
	}})
	list, total, err := dial(t, p.URL, "", nil).List(t.Context(), completed, 130)
	if err != nil || len(list) != 130 || total != 500 {
		t.Errorf("%d of %d, %v", len(list), total, err)
	}
}

func TestDialSaysWhatIsWrong(t *testing.T) {
	noGRPC := rig.Front("127.0.0.1:1")
	noGRPC.SupportedInterfaces = noGRPC.GetSupportedInterfaces()[:1]
	for name, c := range map[string]struct{ address, want string }{
		"no gRPC":        {rig.Card(t, noGRPC), "offers no gRPC interface"},
		"odd address":    {rig.Card(t, rig.Front("ftp://x")), `names the gRPC address "ftp://x"`},
		"no card":        {rig.Card(t, rig.Front("x:1")) + "/elsewhere", "no agent card at"},
		"nothing serves": {"127.0.0.1:1", "cannot reach http://127.0.0.1:1"},
	} {
		server, err := client.ParseServer(c.address)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.Dial(t.Context(), client.Options{Server: server, Clock: clock.System{}}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestADeadAddressOnTheCardIsNamed(t *testing.T) {
	c := dial(t, rig.Card(t, rig.Front("127.0.0.1:1")), "", nil)
	_, err := c.Get(t.Context(), "t1")
	var u *client.Unreachable
	if !errors.As(err, &u) || u.Address != "127.0.0.1:1" || !u.Advertised {
		t.Errorf("got %v", err)
	}
}

func TestParseServer(t *testing.T) {
	for in, want := range map[string]string{
		"127.0.0.1:8080": "http://127.0.0.1:8080", "https://a.example/base": "https://a.example/base", "ftp://a": "", "http://": "", "": "",
	} {
		u, err := client.ParseServer(in)
		switch {
		case want == "" && err == nil:
			t.Errorf("%q was taken as %v", in, u)
		case want != "" && (err != nil || u.String() != want):
			t.Errorf("%q: %v, %v", in, u, err)
		}
	}
}
