package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/identity"
	"sabha.dev/chassis/sqldb"
	"sabha.dev/chassis/taskstore"
)

// apart is the time between two requests: all of them are of seven days.
const apart = 6 * time.Second

// stored is one request as a planner keeps it.
type stored struct {
	id, context, playbook string
	n                     int
	state                 a2apb.TaskState
	at                    time.Time
	retrying              bool
}

// request number n of all, the oldest first.
func storedRequest(n int, now time.Time) stored {
	at := now.Add(-time.Duration(requests-n) * apart)
	ms := at.UnixMilli()
	s := stored{
		n: n, at: at, id: fmt.Sprintf("%08x-%04x-7%03x-8000-%012x", ms>>16, ms&0xffff, n&0xfff, n), context: fmt.Sprintf("context-%d", n/5),
		state: a2apb.TaskState_TASK_STATE_COMPLETED, playbook: "general",
	}
	switch {
	case n%10 == 0:
		s.state = a2apb.TaskState_TASK_STATE_WORKING
		s.retrying = n%100 == 0
	case n%200 == 1:
		s.state = a2apb.TaskState_TASK_STATE_FAILED
	case n%200 == 3:
		s.state = a2apb.TaskState_TASK_STATE_CANCELED
	}
	switch {
	case n%100 == 7:
		s.playbook = "rare"
	case n%11 == 0:
		s.playbook = "leave"
	}
	return s
}

var subjects = strings.Fields("lighthouse keeper harbour pilot invoice supplier mortgage customer contract holiday payroll audit library archive")

func (s stored) says() string {
	word := func(k int) string { return subjects[(s.n/k)%len(subjects)] }
	return fmt.Sprintf("What does the %s have to do with the %s, and who of the %s has to know of it before the end of the month?", word(1), word(7), word(3))
}

func (s stored) task() ([]byte, error) {
	return proto.Marshal(&a2apb.Task{
		Id: s.id, ContextId: s.context,
		Status:    &a2apb.TaskStatus{State: s.state, Timestamp: timestamppb.New(s.at.Add(time.Second)), Message: agent.Message(agent.Text("as it is"))},
		History:   []*a2apb.Message{{MessageId: "m-" + s.id, TaskId: s.id, ContextId: s.context, Role: a2apb.Role_ROLE_USER, Parts: []*a2apb.Part{agent.Text(s.says())}}},
		Artifacts: []*a2apb.Artifact{{ArtifactId: "answer", Parts: []*a2apb.Part{agent.Text(strings.Repeat("The answer with its sources. ", 60))}}},
	})
}

// fillSome stores requests from one number up to another in one transaction.
func fillSome(ctx context.Context, db *sqldb.DB, now time.Time, from, to int) error {
	tx, err := db.Write.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	w := &writer{ctx: ctx, tx: tx, db: db, stmts: map[string]*sql.Stmt{}}
	for n := from; n < to; n++ {
		if err := w.request(storedRequest(n, now)); err != nil {
			return err
		}
	}
	return tx.Commit()
}

type writer struct {
	ctx   context.Context
	tx    *sql.Tx
	db    *sqldb.DB
	stmts map[string]*sql.Stmt
}

// insert a row, given the columns and their values.
func (w *writer) insert(table, columns string, values ...any) error {
	stmt := w.stmts[table]
	if stmt == nil {
		marks := make([]string, len(values))
		for i := range marks {
			marks[i] = fmt.Sprintf("$%d", i+1)
		}
		var err error
		query := "INSERT INTO " + table + " (" + columns + ") VALUES (" + strings.Join(marks, ", ") + ")"
		if stmt, err = w.tx.PrepareContext(w.ctx, w.db.Placeholders(query)); err != nil {
			return err
		}
		w.stmts[table] = stmt
	}
	_, err := stmt.ExecContext(w.ctx, values...)
	return err
}

func (w *writer) request(s stored) error {
	body, err := s.task()
	if err != nil {
		return err
	}
	who := identity.Principal{Subject: fmt.Sprintf("user%d", s.n%50), Organisation: "acme"}
	info, err := json.Marshal(taskstore.Info{Principal: who, Grant: strings.Repeat("g", 400), Caller: identity.Gateway, Protocol: "1.0", Digest: strings.Repeat("d", 64)})
	if err != nil {
		return err
	}
	made, ended := s.at.UnixNano(), s.at.Add(time.Second).UnixNano()
	if err := w.insert("tasks", `id, owner, context_id, agent, skill, root_task_id, state, status_at, created_at, version, rev, run_owner, run_epoch,
		wake_at, deadline, attempts, takeovers, cancel_requested, info, body`, s.id, who.Key(), s.context, "planner", "plan-and-run", s.id, int32(s.state),
		ended, made, 9, 9, nil, 1, nil, s.at.Add(24*time.Hour).UnixNano(), 0, 0, 0, string(info), body); err != nil {
		return err
	}
	if err := w.insert("plans", "task_id, playbook, version, input, loops, phase, reasons", s.id, s.playbook, "1", `{"question":"`+s.says()+`"}`, "{}", "RUNNING", "[]"); err != nil {
		return err
	}
	for i, a := range []string{"research", "memory", "validator", "partner"} {
		if a == "partner" && s.playbook != "rare" {
			continue
		}
		step := []string{"search", "recall", "validate", "quote"}[i]
		state, retryAt, stepEnded := "COMPLETED", int64(0), ended
		switch {
		case s.retrying && a == "validator":
			state, retryAt, stepEnded = "RUNNING", ended+int64(time.Minute), 0
		case s.state == a2apb.TaskState_TASK_STATE_FAILED && a == "validator":
			state = "FAILED"
		}
		child := "child"
		if retryAt > 0 {
			child = ""
		}
		if err := w.insert("plan_steps", `task_id, kind, step, round, attempt, call, state, waits_for, asked_at, asked_after, answer, agent, skill, inputs,
			child_task, output, reason, started_at, ended_at, retry_at, due_at`, s.id, "step", step, 0, 0, 0, state, "", 0, 0, "", a, "do",
			`{"question":"`+s.says()+`"}`, child, `{"text":"`+strings.Repeat("found ", 60)+`"}`, "", made, stepEnded, retryAt, 0); err != nil {
			return err
		}
		if retryAt > 0 {
			if err := w.insert("plan_retries", "task_id, kind, step, round", s.id, "step", step, 0); err != nil {
				return err
			}
		}
		if state == "FAILED" {
			if err := w.insert("plan_failures", "step, task_id", step, s.id); err != nil {
				return err
			}
		}
	}
	if s.state == a2apb.TaskState_TASK_STATE_WORKING {
		return nil
	}
	return w.insert("hops", `task_id, root_task_id, parent_task_id, trace_id, caller, principal, agent, agent_version, skill, protocol_version, started_at,
		ended_at, outcome, reason, request_digest, response_digest, admission`, s.id, s.id, "", s.id, "gateway", who.Key(), "planner", "1", "plan-and-run", "1.0",
		made, ended, s.state.String(), "", strings.Repeat("d", 64), strings.Repeat("d", 64), "")
}
