package taskstore

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/proto"
)

// Outcomes of the rows that operators leave by what they do to a task: a cancel, a
// step's next try at once, a new task out of an ended one.
const (
	CancelRequested = "CANCEL_REQUESTED"
	StepRetried     = "STEP_RETRIED"
	Forked          = "FORKED"
)

// Hop is the audit row of one call between agents.
type Hop struct {
	TaskID, RootTaskID, ParentTaskID, TraceID string
	Caller, Principal                         string
	Agent, AgentVersion, Skill                string
	Protocol                                  string
	StartedAt, EndedAt                        time.Time
	// Outcome is the final task state by name, MESSAGE for a direct answer, or what an
	// operator did.
	Outcome, Reason               string
	RequestDigest, ResponseDigest string
	Admission                     string
}

// hop writes the row of a task that has just ended.
func (s *Store) hop(ctx context.Context, tx *sql.Tx, r *Record) error {
	reason := ""
	if m := r.Task.GetStatus().GetMessage(); m != nil && r.Task.GetStatus().GetState() != a2apb.TaskState_TASK_STATE_COMPLETED {
		for _, p := range m.GetParts() {
			reason += p.GetText()
		}
	}
	reason = withoutNUL(reason)
	return s.insertHop(ctx, tx, Hop{
		TaskID: r.Task.GetId(), RootTaskID: r.RootTask, ParentTaskID: r.Info.ParentTask, TraceID: r.Info.TraceID,
		Caller: r.Info.Caller, Principal: r.Info.Principal.Key(), Agent: r.Agent, AgentVersion: s.version, Skill: r.Skill,
		Protocol: r.Info.Protocol, StartedAt: r.CreatedAt, EndedAt: r.Task.GetStatus().GetTimestamp().AsTime(),
		Outcome: r.Task.GetStatus().GetState().String(), Reason: reason,
		RequestDigest: r.Info.Digest, ResponseDigest: resultDigest(r.Task), Admission: r.Info.Admission,
	})
}

// resultDigest is the SHA-256 over the artifacts and the closing message.
func resultDigest(t *a2apb.Task) string {
	h := sha256.New()
	opts := proto.MarshalOptions{Deterministic: true}
	for _, a := range t.GetArtifacts() {
		raw, err := opts.Marshal(a)
		if err != nil {
			return ""
		}
		h.Write(raw)
	}
	if m := t.GetStatus().GetMessage(); m != nil {
		raw, err := opts.Marshal(m)
		if err != nil {
			return ""
		}
		h.Write(raw)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// hopColumns in the order of values.
const hopColumns = `task_id, root_task_id, parent_task_id, trace_id, caller, principal, agent, agent_version, skill,
	protocol_version, started_at, ended_at, outcome, reason, request_digest, response_digest, admission`

func (h *Hop) values() []any {
	return []any{
		h.TaskID, h.RootTaskID, h.ParentTaskID, h.TraceID, h.Caller, h.Principal, h.Agent, h.AgentVersion, h.Skill,
		h.Protocol, h.StartedAt.UnixNano(), h.EndedAt.UnixNano(), h.Outcome, h.Reason, h.RequestDigest, h.ResponseDigest, h.Admission,
	}
}

// Note gives the writing of an audit row that says what somebody did to a task, for
// the transaction in which it is done.
func (s *Store) Note(h Hop) Rows {
	h.AgentVersion, h.Reason = s.version, withoutNUL(h.Reason)
	return func(ctx context.Context, tx *sql.Tx) error { return s.insertHop(ctx, tx, h) }
}

// hopsAtOnce is how many rows one statement of a burst inserts.
const hopsAtOnce = 32

// insertHops is the statement that inserts n rows.
func insertHops(n int) string {
	var b strings.Builder
	b.WriteString("INSERT INTO hops (" + hopColumns + ") VALUES ")
	width := len((&Hop{}).values())
	for row := range n {
		for col := range width {
			sep := ","
			switch {
			case col == 0 && row == 0:
				sep = "("
			case col == 0:
				sep = "),("
			}
			fmt.Fprintf(&b, "%s$%d", sep, row*width+col+1)
		}
	}
	return b.String() + ")"
}

func (s *Store) insertHop(ctx context.Context, tx *sql.Tx, h Hop) error {
	_, err := tx.StmtContext(ctx, s.stmts.hop).ExecContext(ctx, h.values()...)
	return err
}

// withoutNUL replaces what PostgreSQL takes in no text.
func withoutNUL(s string) string { return strings.ReplaceAll(s, "\x00", "\uFFFD") }

// Hops lists the audit rows of one request, oldest first. traceID selects a whole
// trace; otherwise rootTask selects the request that a client started. Tasks that
// have not ended are listed with their present state and no end.
func (s *Store) Hops(ctx context.Context, rootTask, traceID string) ([]Hop, error) {
	column, value := "root_task_id", rootTask
	if traceID != "" {
		column, value = "trace_id", traceID
	}
	rows, err := s.db.Read.QueryContext(ctx, `SELECT task_id, root_task_id, parent_task_id, trace_id, caller, principal, agent, agent_version,
		skill, protocol_version, started_at, ended_at, outcome, reason, request_digest, response_digest, admission
		FROM hops WHERE `+column+` = $1 ORDER BY started_at`, value)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var list []Hop
	for rows.Next() {
		var h Hop
		var started, ended int64
		if err := rows.Scan(&h.TaskID, &h.RootTaskID, &h.ParentTaskID, &h.TraceID, &h.Caller, &h.Principal, &h.Agent, &h.AgentVersion,
			&h.Skill, &h.Protocol, &started, &ended, &h.Outcome, &h.Reason, &h.RequestDigest, &h.ResponseDigest, &h.Admission); err != nil {
			return nil, err
		}
		h.StartedAt, h.EndedAt = time.Unix(0, started).UTC(), time.Unix(0, ended).UTC()
		list = append(list, h)
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	if rootTask == "" {
		return list, nil
	}
	open, err := s.open(ctx, rootTask)
	return append(list, open...), err
}

func (s *Store) open(ctx context.Context, rootTask string) ([]Hop, error) {
	rows, err := s.db.Read.QueryContext(ctx, `SELECT `+recordColumns+` FROM tasks WHERE root_task_id = $1 AND state IN (1, 2, 6, 8)`, rootTask)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var list []Hop
	for rows.Next() {
		r, err := scanRecord(rows)
		if err != nil {
			return nil, err
		}
		list = append(list, Hop{
			TaskID: r.Task.GetId(), RootTaskID: r.RootTask, ParentTaskID: r.Info.ParentTask, TraceID: r.Info.TraceID, Caller: r.Info.Caller,
			Principal: r.Info.Principal.Key(), Agent: r.Agent, AgentVersion: s.version, Skill: r.Skill, Protocol: r.Info.Protocol,
			StartedAt: r.CreatedAt, Outcome: r.Task.GetStatus().GetState().String(), RequestDigest: r.Info.Digest, Admission: r.Info.Admission,
		})
	}
	return list, rows.Err()
}
