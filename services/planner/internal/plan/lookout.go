package plan

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"

	"sabha.dev/chassis/clock"
	"sabha.dev/chassis/identity"
	adminv1 "sabha.dev/gen/sabha/admin/v1"
)

// How often steps are looked at that wait for people: seldom while wake-ups come, and
// often while they do not, or an agent gave no answer.
const (
	lookEvery = 2 * time.Minute
	lookAway  = 5 * time.Second
	// lookAtOnce is how many steps are asked about in one call.
	lookAtOnce = 500
	// lookWithin bounds a call.
	lookWithin = 5 * time.Second
	// lookRest is what the plans of one call have before those of the next are taken up.
	lookRest = time.Second
)

// Lookout finds the plans whose children have gone on while nobody heard it: wake-ups are
// hints, and none is kept for a planner that is away. It asks each agent for the states
// of all that is waited for, when it begins, when NATS is back, and every now and then.
type Lookout struct {
	Rows  *Rows
	Peers func(agent string) (grpc.ClientConnInterface, error)
	// Nudge has a plan looked at.
	Nudge  func(taskID string)
	NATS   *nats.Conn
	Clock  clock.Clock
	Logger *slog.Logger
}

// Run looks out until ctx ends.
func (l *Lookout) Run(ctx context.Context) {
	back := l.NATS.StatusChanged(nats.CONNECTED)
	defer l.NATS.RemoveStatusListener(back)
	for {
		pause := lookEvery
		if whole := l.look(ctx); !whole || !l.NATS.IsConnected() {
			pause = lookAway
		}
		select {
		case <-ctx.Done():
			return
		case <-back:
		case <-l.Clock.After(pause):
		}
	}
}

// look looks at all steps once. It tells whether every agent was heard.
func (l *Lookout) look(ctx context.Context) (whole bool) {
	whole = true
	for last, more := (waiting{}), true; more && ctx.Err() == nil; {
		steps, err := l.Rows.waiting(ctx, last, lookAtOnce)
		if err != nil {
			if ctx.Err() == nil {
				l.Logger.Error("steps that wait for people were not looked at", "error", err)
			}
			return false
		}
		if more = len(steps) == lookAtOnce; more {
			last = steps[len(steps)-1]
		}
		byAgent := map[string][]waiting{}
		for _, w := range steps {
			byAgent[w.agent] = append(byAgent[w.agent], w)
		}
		found := 0
		for agent, steps := range byAgent {
			moved, err := l.moved(ctx, agent, steps)
			if err != nil {
				whole = false
				l.Logger.Debug("steps that wait for people were not looked at", "agent", agent, "error", err)
			}
			for _, id := range moved {
				l.Nudge(id)
			}
			found += len(moved)
		}
		if more && found > 0 {
			select {
			case <-ctx.Done():
			case <-l.Clock.After(lookRest):
			}
		}
	}
	return whole
}

// moved gives the plans of those steps whose children are not any more what they were.
func (l *Lookout) moved(ctx context.Context, agent string, steps []waiting) ([]string, error) {
	conn, err := l.Peers(agent)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(identity.WithOutgoing(ctx, identity.Call{}), lookWithin)
	defer cancel()
	req := &adminv1.GetStatesRequest{}
	for _, w := range steps {
		req.TaskIds = append(req.TaskIds, w.child)
	}
	res, err := adminv1.NewAdminServiceClient(conn).GetStates(ctx, req)
	switch status.Code(err) {
	case codes.OK:
	case codes.Unimplemented, codes.PermissionDenied: // an older release, or no agent of ours
		return nil, nil
	default:
		return nil, err
	}
	var plans []string
	for _, w := range steps {
		if state := res.GetStates()[w.child]; state != "" && !w.stands(state) {
			plans = append(plans, w.task)
		}
	}
	return plans, nil
}

// waiting is a step that waits for people.
type waiting struct {
	task, step string
	round      int
	agent      string
	child      string
	waitsFor   string
}

// stands tells whether a child in a state may be what it was when its step began to wait.
func (w waiting) stands(state string) bool {
	switch a2apb.TaskState(a2apb.TaskState_value[state]) {
	case a2apb.TaskState_TASK_STATE_INPUT_REQUIRED:
		return w.waitsFor == waitInput
	case a2apb.TaskState_TASK_STATE_AUTH_REQUIRED, a2apb.TaskState_TASK_STATE_WORKING:
		return w.waitsFor == waitAuth
	}
	return false
}

// waiting reads steps that wait for people, after another one in their order. Those of
// plans that have ended are left out.
func (d *Rows) waiting(ctx context.Context, after waiting, limit int) ([]waiting, error) {
	rows, err := d.read.QueryContext(ctx, `SELECT s.task_id, s.step, s.round, s.agent, s.child_task, s.waits_for
		FROM plan_steps AS s JOIN tasks AS t ON t.id = s.task_id AND t.state IN (1, 2, 6, 8)
		WHERE s.waits_for <> '' AND s.child_task <> '' AND (s.task_id, s.step, s.round) > ($1, $2, $3)
		ORDER BY s.task_id, s.step, s.round LIMIT $4`, after.task, after.step, after.round, limit)
	if err != nil {
		return nil, err
	}
	var all []waiting
	for rows.Next() {
		var w waiting
		if err := rows.Scan(&w.task, &w.step, &w.round, &w.agent, &w.child, &w.waitsFor); err != nil {
			return nil, errors.Join(err, rows.Close())
		}
		all = append(all, w)
	}
	return all, errors.Join(rows.Err(), rows.Close())
}
