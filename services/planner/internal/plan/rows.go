package plan

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"sabha.dev/chassis/label"
	"sabha.dev/chassis/sqldb"
	"sabha.dev/services/planner/internal/model"
	"sabha.dev/services/planner/playbook"
)

// kind of a row.
type kind string

const (
	stepKind         kind = "step"
	compensationKind kind = "compensation"
)

// phase of a plan.
type phase string

const (
	running    phase = "RUNNING"
	failing    phase = "FAILING"
	rejecting  phase = "REJECTING"
	cancelling phase = "CANCELLING"
)

// What a running child waits for: the client's answer, or the authorisation or
// decision of somebody else.
const (
	waitInput = "input"
	waitAuth  = "auth"
)

// row is one step, or one compensation, in one round of its loop.
type row struct {
	Kind  kind
	Step  string
	Round int
	// Attempt counts the failures so far.
	Attempt int
	// Call tells the calls of a step apart. An attempt whose call may have arrived
	// repeats it, so that its agent does the work once.
	Call  int
	State playbook.State
	// WaitsFor is what a running child waits for: input, auth, or nothing.
	WaitsFor string
	AskedAt  time.Time
	// AskedAfter is how many messages the client had sent when the child asked: only
	// later ones answer it.
	AskedAfter int
	// Answer is the id of the client's message that is on its way to the child.
	Answer    string
	Agent     string
	Skill     string
	Inputs    map[string]any
	ChildTask string
	Output    playbook.Output
	Reason    string
	StartedAt time.Time
	EndedAt   time.Time
	// RetryAt is when the next attempt begins; zero before the first failure.
	RetryAt time.Time
	// DueAt is when the budget of the attempt ends. It stands still while people are awaited.
	DueAt time.Time
	marks
	// Kept says that another plan did it, out of which this one was made. The row is as
	// it was there.
	Kept bool
}

type rowKey struct {
	kind  kind
	step  string
	round int
}

func (r *row) key() rowKey { return rowKey{r.Kind, r.Step, r.Round} }

// late tells whether the budget of the attempt is spent.
func (r *row) late(now time.Time) bool {
	return r.WaitsFor == "" && !r.DueAt.IsZero() && !now.Before(r.DueAt)
}

// plan is the state of one task's plan. Its rows are the truth; this is their image.
type plan struct {
	task string
	// context is the A2A context of the request; its children share it.
	context string
	book    *playbook.Playbook
	input   map[string]any
	// inputLabels are those of input: of all that the client has said to make it.
	inputLabels label.Labels
	loops       map[string]playbook.LoopRun
	phase       phase
	reasons     []string
	rows        map[rowKey]*row
	// spend counts what models use for the plan; modelled says what else they did.
	spend    *model.Spend
	modelled modelled
	// forkedFrom is the task of the plan that this one was made out of, forkedAt the step
	// that it began again at; empty for none.
	forkedFrom, forkedAt string
}

// run is what decisions depend on.
func (p *plan) run() playbook.Run { return p.at("", 0) }

// at is the run as it was in a round of a loop; without a loop it is the present.
func (p *plan) at(loop string, round int) playbook.Run {
	run := playbook.Run{Input: p.input, Steps: map[string]playbook.StepRun{}, Loops: p.loops}
	for _, s := range p.book.Steps {
		r := p.current(s)
		if loop != "" && s.Loop == loop {
			r = p.rows[rowKey{stepKind, s.ID, round}]
		}
		if r != nil {
			run.Steps[s.ID] = playbook.StepRun{State: r.State, Output: r.Output, Reason: r.Reason}
		}
	}
	return run
}

// current is the row of a step in the present round of its loop, or nil.
func (p *plan) current(s *playbook.Step) *row {
	return p.rows[rowKey{stepKind, s.ID, p.loops[s.Loop].Round}]
}

// ordered lists the rows that keep says, oldest first; those of one moment in the
// order of their names, so that two replicas see the same order.
func (p *plan) ordered(keep func(*row) bool) []*row {
	var list []*row
	for _, r := range p.rows {
		if keep(r) {
			list = append(list, r)
		}
	}
	slices.SortFunc(list, func(a, b *row) int {
		if c := a.StartedAt.Compare(b.StartedAt); c != 0 {
			return c
		}
		if c := strings.Compare(a.Step, b.Step); c != 0 {
			return c
		}
		if a.Round != b.Round {
			return a.Round - b.Round
		}
		return strings.Compare(string(a.Kind), string(b.Kind))
	})
	return list
}

// open lists the steps that have not settled.
func (p *plan) open() []*row {
	return p.ordered(func(r *row) bool { return r.Kind == stepKind && r.State == playbook.Running })
}

// Rows are the tables of plans.
type Rows struct {
	read                 *sql.DB
	writePlan, writeStep *sql.Stmt
}

// OpenRows prepares the statements for plans. The tables exist.
func OpenRows(ctx context.Context, db *sqldb.DB) (*Rows, error) {
	r := &Rows{read: db.Read}
	var err error
	r.writePlan, err = db.Write.PrepareContext(ctx, db.Placeholders(`INSERT INTO plans (task_id, playbook, version, digest, input, loops, phase, reasons, labels)
		VALUES ($1,$2,$3,$4,$5,$6,$7,$8,$9)
		ON CONFLICT (task_id) DO UPDATE SET loops = excluded.loops, phase = excluded.phase, reasons = excluded.reasons`))
	if err != nil {
		return nil, fmt.Errorf("plans: %w", err)
	}
	r.writeStep, err = db.Write.PrepareContext(ctx, db.Placeholders(`INSERT INTO plan_steps (task_id, kind, step, round, attempt, call, state, waits_for,
		asked_at, asked_after, answer, agent, skill, inputs, child_task, output, reason, started_at, ended_at, retry_at, due_at, labels)
		VALUES ($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14,$15,$16,$17,$18,$19,$20,$21,$22)
		ON CONFLICT (task_id, kind, step, round) DO UPDATE SET attempt = excluded.attempt, call = excluded.call, state = excluded.state,
		waits_for = excluded.waits_for, asked_at = excluded.asked_at, asked_after = excluded.asked_after, answer = excluded.answer,
		child_task = excluded.child_task, output = excluded.output, reason = excluded.reason, started_at = excluded.started_at,
		ended_at = excluded.ended_at, retry_at = excluded.retry_at, due_at = excluded.due_at, labels = excluded.labels`))
	if err != nil {
		return nil, fmt.Errorf("plan steps: %w", err)
	}
	return r, nil
}

// write returns a function that stores the plan and some of its rows. It works on
// copies, for it may run later and more than once.
func (d *Rows) write(p *plan, changed ...*row) (func(context.Context, *sql.Tx) error, error) {
	input, err := json.Marshal(p.input)
	if err != nil {
		return nil, err
	}
	loops, err := json.Marshal(p.loops)
	if err != nil {
		return nil, err
	}
	reasons, err := json.Marshal(p.reasons)
	if err != nil {
		return nil, err
	}
	labels, err := marks{In: p.inputLabels}.encode()
	if err != nil {
		return nil, err
	}
	planArgs := []any{p.task, p.book.Name, string(p.book.Version), p.book.Digest, string(input), string(loops), string(p.phase), string(reasons), labels}
	stepArgs := make([][]any, len(changed))
	for i, r := range changed {
		inputs, err := json.Marshal(r.Inputs)
		if err != nil {
			return nil, err
		}
		output, err := json.Marshal(r.Output)
		if err != nil {
			return nil, err
		}
		labels, err := r.encode()
		if err != nil {
			return nil, err
		}
		stepArgs[i] = []any{
			p.task, string(r.Kind), r.Step, r.Round, r.Attempt, r.Call, string(r.State), r.WaitsFor, nanos(r.AskedAt), r.AskedAfter, r.Answer,
			r.Agent, r.Skill, string(inputs), r.ChildTask, string(output), r.Reason,
			nanos(r.StartedAt), nanos(r.EndedAt), nanos(r.RetryAt), nanos(r.DueAt), labels,
		}
	}
	few := exceptions(p.task, changed)
	return func(ctx context.Context, tx *sql.Tx) error {
		if _, err := tx.StmtContext(ctx, d.writePlan).ExecContext(ctx, planArgs...); err != nil {
			return fmt.Errorf("plan: %w", err)
		}
		step := tx.StmtContext(ctx, d.writeStep)
		for _, args := range stepArgs {
			if _, err := step.ExecContext(ctx, args...); err != nil {
				return fmt.Errorf("plan step: %w", err)
			}
		}
		for _, e := range few {
			if _, err := tx.ExecContext(ctx, e.SQL, e.Args...); err != nil {
				return fmt.Errorf("plan step: %w", err)
			}
		}
		return nil
	}, nil
}

// storable drops the one character that PostgreSQL keeps in no text.
func storable(s string) string { return strings.ReplaceAll(s, "\x00", "") }

var (
	// errNoPlan means that the task has no plan yet.
	errNoPlan = errors.New("no plan yet")
	// errNoPlaybook means that this planner cannot read the playbook that the plan began with.
	errNoPlaybook = errors.New("the playbook is not known to this release")
)

// load reads a task's plan from its rows. With errNoPlaybook the plan is there, but
// of its playbook only the name and version.
func (d *Rows) load(ctx context.Context, books *Books, taskID string) (*plan, error) {
	p := &plan{task: taskID, rows: map[rowKey]*row{}}
	var name, version, digest, input, loops, reasons, labels string
	err := d.read.QueryRowContext(ctx, `SELECT playbook, version, digest, input, loops, phase, reasons, labels, forked_from, forked_at FROM plans WHERE task_id = $1`, taskID).
		Scan(&name, &version, &digest, &input, &loops, &p.phase, &reasons, &labels, &p.forkedFrom, &p.forkedAt)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, errNoPlan
	}
	if err != nil {
		return nil, err
	}
	book, unknown := books.begunWith(ctx, name, playbook.Version(version), digest)
	switch p.book = book; {
	case errors.Is(unknown, errNoPlaybook):
		p.book = &playbook.Playbook{Name: name, Version: playbook.Version(version), Digest: digest}
	case unknown != nil:
		return nil, unknown
	}
	if err := errors.Join(json.Unmarshal([]byte(input), &p.input), json.Unmarshal([]byte(loops), &p.loops), json.Unmarshal([]byte(reasons), &p.reasons)); err != nil {
		return nil, fmt.Errorf("plan of task %s: %w", taskID, err)
	}
	var own marks
	if err := decode(labels, &own); err != nil {
		return nil, fmt.Errorf("plan of task %s: %w", taskID, err)
	}
	p.inputLabels = own.In
	rows, err := d.read.QueryContext(ctx, `SELECT kind, step, round, attempt, call, state, waits_for, asked_at, asked_after, answer, agent, skill, inputs,
		child_task, output, reason, started_at, ended_at, retry_at, due_at, labels, kept FROM plan_steps WHERE task_id = $1`, taskID)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var r row
		var inputs, output, labels string
		var asked, started, ended, retry, due int64
		var kept int
		if err := rows.Scan(&r.Kind, &r.Step, &r.Round, &r.Attempt, &r.Call, &r.State, &r.WaitsFor, &asked, &r.AskedAfter, &r.Answer,
			&r.Agent, &r.Skill, &inputs, &r.ChildTask, &output, &r.Reason, &started, &ended, &retry, &due, &labels, &kept); err != nil {
			return nil, err
		}
		if err := errors.Join(json.Unmarshal([]byte(inputs), &r.Inputs), json.Unmarshal([]byte(output), &r.Output), decode(labels, &r.marks)); err != nil {
			return nil, fmt.Errorf("plan of task %s, step %s: %w", taskID, r.Step, err)
		}
		r.Kept = kept != 0
		r.AskedAt, r.StartedAt, r.EndedAt, r.RetryAt, r.DueAt = at(asked), at(started), at(ended), at(retry), at(due)
		p.rows[r.key()] = &r
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	if unknown != nil {
		return p, fmt.Errorf("plan of task %s: %w", taskID, unknown)
	}
	return p, nil
}

func nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

func at(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, n).UTC()
}
