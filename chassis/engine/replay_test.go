package engine_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/proto"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/taskstore"
)

// follower is a client that follows a task through replicas that come and go,
// with the cursor of the last event it has seen.
type follower struct {
	cursor string
	// events are what each version brought.
	events map[int64]string
	wrong  []string
	ended  bool
}

// note takes an event in and complains of holes, repeats and gaps.
func (f *follower) note(ev *a2apb.StreamResponse) {
	var epoch, version, last int64
	if _, err := fmt.Sscanf(cursorOf(ev), "%d.%d", &epoch, &version); err != nil {
		f.wrong = append(f.wrong, fmt.Sprintf("an event with the cursor %q", cursorOf(ev)))
		return
	}
	if f.cursor != "" {
		_, _ = fmt.Sscanf(f.cursor, "%d.%d", &epoch, &last)
		if version != last+1 {
			f.wrong = append(f.wrong, fmt.Sprintf("%s after %s (gap %v)", cursorOf(ev), f.cursor, gap(ev)))
		}
	}
	f.cursor = cursorOf(ev)
	if ev.GetTask() == nil {
		raw, _ := proto.MarshalOptions{Deterministic: true}.Marshal(ev)
		f.events[version] = string(raw)
	}
	f.ended = f.ended || taskstore.Terminal(ev.GetStatusUpdate().GetStatus().GetState()) || taskstore.Terminal(ev.GetTask().GetStatus().GetState())
}

// follow reads events at a replica until the stream ends or the client leaves.
func (f *follower) follow(ctx context.Context, p *replica, id string) {
	s := newStream(withCursor(ctx, f.cursor))
	go func() { s.done <- p.SubscribeToTask(&a2apb.SubscribeToTaskRequest{Id: id}, s) }()
	for {
		select {
		case ev := <-s.events:
			f.note(ev)
		case err := <-s.done:
			for {
				select {
				case ev := <-s.events:
					f.note(ev)
					continue
				default:
				}
				break
			}
			// The last event was seen already.
			f.ended = f.ended || fault.As(err) != nil && fault.As(err).Reason == fault.UnsupportedOperation
			return
		}
	}
}

// Whatever dies and wherever a client asks next, it sees every event once and in
// order, and every client sees the same.
func TestClientsSeeEveryEventOnceThoughReplicasDie(t *testing.T) {
	onBothEngines(t, func(t *testing.T, r *rig) {
		for _, seed := range []uint64{1, 2} {
			t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) { replay(t, r, seed) })
		}
	})
}

func replay(t *testing.T, r *rig, seed uint64) {
	const pieces, clients = 120, 4
	a := running(func(ctx context.Context, run agent.Run) (agent.Outcome, error) {
		done := 0
		if list := run.Task().GetArtifacts(); len(list) > 0 {
			done = len(list[0].GetParts())
		}
		for i := done; i < pieces; i++ {
			piece := &a2apb.Artifact{ArtifactId: "x", Parts: []*a2apb.Part{agent.Text(fmt.Sprint(i))}}
			var err error
			if i == 0 {
				err = run.Artifact(piece)
			} else {
				err = run.Append(piece, false)
			}
			if err != nil {
				return agent.Outcome{}, err
			}
			select {
			case <-time.After(5 * time.Millisecond):
			case <-ctx.Done():
				return agent.Outcome{}, ctx.Err()
			}
		}
		return agent.Completed(), nil
	})
	var mu sync.Mutex
	var living [3]*replica
	for i := range living {
		living[i] = r.start(fmt.Sprintf("s%d-%d", seed, i), a)
	}
	at := func(i int) *replica {
		mu.Lock()
		defer mu.Unlock()
		return living[i]
	}
	id := living[0].send(atOnce(request(fmt.Sprintf("m%d", seed), "do", "go"))).GetId()
	followers := make([]*follower, clients)
	var wait sync.WaitGroup
	for i := range followers {
		f := &follower{events: map[int64]string{}}
		followers[i] = f
		chance := rand.New(rand.NewPCG(seed, uint64(i)))
		wait.Go(func() {
			for end := time.Now().Add(2 * time.Minute); !f.ended && time.Now().Before(end); {
				ctx, leave := context.WithCancel(alice(t))
				timer := time.AfterFunc(time.Duration(20+chance.IntN(300))*time.Millisecond, leave)
				f.follow(ctx, at(chance.IntN(len(living))), id)
				timer.Stop()
				leave()
			}
		})
	}
	chance := rand.New(rand.NewPCG(seed, 99))
	for kill := range 3 {
		time.Sleep(time.Duration(50+chance.IntN(150)) * time.Millisecond)
		rec, err := at(0).store.Get(t.Context(), id)
		r.must(err)
		for i := range living {
			if p := at(i); p.store.Replica() == rec.RunOwner || rec.RunOwner == "" && i == kill {
				p.die()
				next := r.start(fmt.Sprintf("s%d-%d-after-%d", seed, i, kill), a)
				mu.Lock()
				living[i] = next
				mu.Unlock()
			}
		}
		r.eventually("the task is taken over", func() bool {
			now, err := at(0).store.Get(t.Context(), id)
			return err == nil && (now.Ended() || now.RunEpoch > rec.RunEpoch)
		})
	}
	r.eventually("the task ends", at(0).reached(id, a2apb.TaskState_TASK_STATE_COMPLETED))
	wait.Wait()
	task := at(0).task(id)
	if got := len(task.GetArtifacts()[0].GetParts()); got != pieces {
		t.Errorf("the task has %d pieces, want %d", got, pieces)
	}
	for i, f := range followers {
		if !f.ended || len(f.wrong) > 0 {
			t.Errorf("client %d: ended %v; %s", i, f.ended, strings.Join(f.wrong, "; "))
		}
		for v, ev := range f.events {
			if other, seen := followers[0].events[v]; seen && other != ev {
				t.Errorf("clients 0 and %d saw different events at version %d", i, v)
			}
		}
	}
}

// While NATS is away, and from then on, readers on every replica hear of a task
// event by event.
func TestReadersOnEveryReplicaHearOfATaskWhileNATSIsAway(t *testing.T) {
	onBothEngines(t, func(t *testing.T, r *rig) {
		step := make(chan string)
		p, q := r.start("p", steps(step)), r.start("q", steps(step))
		id := p.send(atOnce(request("m1", "do", "go"))).GetId()
		here, there := &follower{events: map[int64]string{}}, &follower{events: map[int64]string{}}
		streams := map[*follower]*stream{here: p.subscribe(id, ""), there: q.subscribe(id, "")}
		// heard lets time pass until all have seen the version that so many pieces make.
		heard := func(what string, pieces int) {
			t.Helper()
			want := fmt.Sprintf("1.%d", 2+pieces)
			r.calmly("all hear "+what, func() bool {
				for f, s := range streams {
					for more := true; more; {
						select {
						case ev := <-s.events:
							f.note(ev)
						default:
							more = false
						}
					}
				}
				for f := range streams {
					if f.cursor != want {
						return false
					}
				}
				return true
			})
		}
		heard("the beginning", 0)
		step <- "before"
		heard("what was before the outage", 1)
		r.nats.Stop()
		for i := range 20 {
			step <- fmt.Sprint(i)
		}
		heard("what was during the outage", 21)
		resumed := &follower{cursor: "1.10", events: map[int64]string{}}
		streams[resumed] = q.subscribe(id, resumed.cursor)
		for i := range 20 {
			step <- fmt.Sprint(20 + i)
		}
		heard("more during the outage", 41)
		r.must(r.nats.Start())
		step <- "after"
		heard("what was after the outage", 42)
		step <- "end"
		heard("the end", 43)
		for name, f := range map[string]*follower{"here": here, "there": there, "resumed": resumed} {
			if !f.ended || len(f.wrong) > 0 {
				t.Errorf("%s: ended %v; %s", name, f.ended, strings.Join(f.wrong, "; "))
			}
			for v, ev := range f.events {
				// What was before they had all begun, some have read in the task.
				if v > 2 && here.events[v] != ev {
					t.Errorf("%s saw another event at version %d", name, v)
				}
			}
		}
		if len(there.events) < 42 || len(resumed.events) != 35 {
			t.Errorf("%d events there, %d after the cursor", len(there.events), len(resumed.events))
		}
		r.eventually("the log catches up", func() bool {
			updates, err := p.Log.Replay(t.Context(), "doer", id, 1, 1)
			return err == nil && len(updates) == 44
		})
	})
}

func TestACursorIsGoodOnEveryReplicaOrSaysWhyNot(t *testing.T) {
	onBothEngines(t, func(t *testing.T, r *rig) {
		step := make(chan string)
		p, q := r.start("p", steps(step)), r.start("q", steps(step))
		id := p.send(atOnce(request("m1", "do", "go"))).GetId()
		for _, says := range []string{"one", "two"} {
			step <- says
		}
		r.soon("the second is stored", func() bool { return artifacts(q.task(id)) == "one\ntwo" })
		if ev := q.subscribe(id, "1.3").next(t); told([]*a2apb.StreamResponse{ev}) != "two@1.4" || gap(ev) {
			t.Errorf("after a cursor of the other replica: %s", told([]*a2apb.StreamResponse{ev}))
		}
		for cursor, what := range map[string]string{"9.2": "another epoch", "0.2": "an older epoch", "1.999": "the future"} {
			if ev := q.subscribe(id, cursor).next(t); told([]*a2apb.StreamResponse{ev}) != "task@1.4" || !gap(ev) {
				t.Errorf("after a cursor of %s: %s, gap %v", what, told([]*a2apb.StreamResponse{ev}), gap(ev))
			}
		}
		for _, garbage := range []string{"x", "1", "1.", ".1", "1.2.3", "1.-2", "1.2 ", "1.99999999999999999999"} {
			_, err := q.subscribe(id, garbage).rest(t)
			wantReason(t, err, fault.InvalidArgument)
			if err != nil && !strings.Contains(err.Error(), "send back the one of the last event you have seen") {
				t.Errorf("cursor %q: %v", garbage, err)
			}
		}
		step <- "end"
	})
}
