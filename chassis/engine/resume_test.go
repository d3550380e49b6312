package engine_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc/metadata"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/engine"
	"sabha.dev/chassis/sqldb"
	"sabha.dev/chassis/taskstore"
)

// waiting makes an agent whose tasks park until a word of its service is there.
func waiting(db *sqldb.DB, budget time.Duration) agent.Agent {
	return one(agent.Skill{Compensates: true, OwnClock: true, Budget: budget, Run: func(ctx context.Context, run agent.Run) (agent.Outcome, error) {
		select {
		case <-run.Canceling():
			return agent.Canceled(), nil
		default:
		}
		var word string
		err := db.Read.QueryRowContext(ctx, `SELECT word FROM words WHERE task = $1`, run.Task().GetId()).Scan(&word)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return agent.Parked(time.Time{}), nil
		case err != nil:
			return agent.Outcome{}, err
		}
		return agent.Completed(agent.Text(word)), nil
	}})
}

var errSaid = errors.New("a word is there already")

// say writes the word of a task, once.
func say(id, word string) func(context.Context, *sql.Tx) error {
	return func(ctx context.Context, tx *sql.Tx) error {
		res, err := tx.ExecContext(ctx, `INSERT INTO words (task, word) VALUES ($1, $2) ON CONFLICT (task) DO NOTHING`, id, word)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			return errSaid
		}
		return nil
	}
}

// words opens the rig's database with the table of words.
func (r *rig) words() *sqldb.DB {
	r.Helper()
	db, err := sqldb.Open(r.Context(), r.url)
	r.must(err)
	r.Cleanup(func() { _ = db.Close() })
	_, err = db.Write.ExecContext(r.Context(), `CREATE TABLE words (task TEXT NOT NULL PRIMARY KEY, word TEXT NOT NULL)`)
	r.must(err)
	return db
}

// parked tells whether a task waits without a replica.
func (p *replica) parked(id string) func() bool {
	return func() bool {
		rec, err := p.store.Get(p.rig.Context(), id)
		p.rig.must(err)
		return rec.RunOwner == "" && !rec.WakeAt.IsZero()
	}
}

func TestWhatAServiceLearnsResumesATaskOnAnyReplica(t *testing.T) {
	onBothEngines(t, func(t *testing.T, r *rig) {
		a := waiting(r.words(), time.Hour)
		p, q := r.start("p", a), r.start("q", a)
		id := p.send(atOnce(request("m1", "do", "wait"))).GetId()
		r.eventually("the task parks", p.parked(id))
		if err := q.Resume(t.Context(), id, say(id, "yes")); err != nil {
			t.Fatal(err)
		}
		r.eventually("the task completes", p.reached(id, a2apb.TaskState_TASK_STATE_COMPLETED))
		if got := said(p.task(id)); got != "yes" {
			t.Errorf("it ends with %q", got)
		}
		if err := p.Resume(t.Context(), id, say(id, "no")); !errors.Is(err, taskstore.ErrEnded) {
			t.Errorf("resumed after its end: %v", err)
		}
		if err := p.Resume(t.Context(), "none", say("none", "no")); !errors.Is(err, taskstore.ErrNotFound) {
			t.Errorf("resumed what is not there: %v", err)
		}
	})
}

func TestRowsThatRefuseLeaveTheTaskAsItWas(t *testing.T) {
	onBothEngines(t, func(t *testing.T, r *rig) {
		db := r.words()
		a := waiting(db, time.Hour)
		p, q := r.start("p", a), r.start("q", a)
		ids := make([]string, 8)
		for n := range ids {
			ids[n] = p.send(atOnce(request(fmt.Sprint("m", n), "do", "wait"))).GetId()
			r.eventually("the task parks", p.parked(ids[n]))
		}
		refuse := func(context.Context, *sql.Tx) error { return errSaid }
		if err := p.Resume(t.Context(), ids[0], refuse); !errors.Is(err, errSaid) {
			t.Errorf("resumed by refused rows: %v", err)
		}
		if !p.parked(ids[0])() {
			t.Error("the task does not wait any more")
		}
		// Of many who say a word about each task, in transactions that they share, one has said it.
		var (
			mu      sync.Mutex
			all     sync.WaitGroup
			heard   = map[string]string{}
			refused int
		)
		for n := range 64 {
			at, id, word := []*replica{p, q}[n%2], ids[n%len(ids)], fmt.Sprint("word ", n)
			all.Add(1)
			go func() {
				defer all.Done()
				err := at.Resume(t.Context(), id, say(id, word))
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil:
					heard[id] = word
				case errors.Is(err, errSaid), errors.Is(err, taskstore.ErrEnded):
					refused++
				default:
					t.Errorf("%s: %v", word, err)
				}
			}()
		}
		all.Wait()
		if len(heard) != len(ids) || refused != 64-len(ids) {
			t.Fatalf("%d words were said and %d refused", len(heard), refused)
		}
		for _, id := range ids {
			r.eventually("the task completes", p.reached(id, a2apb.TaskState_TASK_STATE_COMPLETED))
			if got := said(p.task(id)); got != heard[id] {
				t.Errorf("%s ends with %q, said was %q", id, got, heard[id])
			}
		}
	})
}

func TestATaskWithAClockOfItsOwnOutlivesItsCaller(t *testing.T) {
	onBothEngines(t, func(t *testing.T, r *rig) {
		p := r.start("p", waiting(r.words(), time.Hour))
		ctx := metadata.NewIncomingContext(alice(t), metadata.Pairs("a2a-version", "1.0", engine.DeadlineHeader, fmt.Sprint(r.clock.Now().Add(time.Minute).UnixMilli())))
		res, err := p.SendMessage(ctx, atOnce(request("m1", "do", "wait")))
		r.must(err)
		rec, err := p.store.Get(t.Context(), res.GetTask().GetId())
		r.must(err)
		if want := r.clock.Now().Add(time.Hour); !rec.Deadline.Equal(want) {
			t.Errorf("its deadline is %v, want %v", rec.Deadline, want)
		}
	})
}
