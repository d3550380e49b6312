package plan

import (
	"context"
	"database/sql"
	"fmt"
	"maps"

	"sabha.dev/chassis/taskstore"
	"sabha.dev/services/planner/playbook"
)

// fork is the plan of a new task that begins again at a step of this one. It keeps the
// outputs of every step that neither is that step nor comes after it, as far as they
// stand: a step that did not settle well or was undone runs again, with all after it.
func (p *plan) fork(step string) *plan {
	again := map[string]bool{}
	for _, s := range p.book.Steps { // each after what it needs
		again[s.ID] = s.ID == step || !p.stands(s)
		for _, need := range s.Needs {
			again[s.ID] = again[s.ID] || again[need]
		}
	}
	f := &plan{
		context: p.context, book: p.book, input: p.input, inputLabels: p.inputLabels, loops: maps.Clone(p.loops), phase: running, rows: map[rowKey]*row{},
		forkedFrom: p.task, forkedAt: step,
	}
	for judge := range f.loops {
		if again[judge] {
			delete(f.loops, judge) // its rounds begin anew
		}
	}
	for _, s := range p.book.Steps {
		if again[s.ID] {
			continue
		}
		r := *p.current(s)
		r.Round, r.Kept = f.loops[s.Loop].Round, true
		f.rows[r.key()] = &r
		if a := p.rows[approval(s, r.Round)]; a != nil {
			asked := *a
			asked.Kept = true
			f.rows[asked.key()] = &asked
		}
	}
	if c := p.rows[confirmation]; c != nil && c.State == playbook.Completed {
		kept := *c
		kept.Kept = true
		f.rows[kept.key()] = &kept
	}
	return f
}

// stands tells whether what a step has done may be built on.
func (p *plan) stands(s *playbook.Step) bool {
	r := p.current(s)
	if r == nil {
		return false
	}
	if undone := p.rows[rowKey{compensationKind, s.ID, r.Round}]; undone != nil && undone.State == playbook.Completed {
		return false
	}
	switch r.State {
	case playbook.Completed, playbook.Skipped:
		return true
	case playbook.Failed, playbook.Canceled:
		return s.Optional
	}
	return false
}

// create stores a fork and the rows that it keeps.
func (d *Rows) create(p *plan) (taskstore.Rows, error) {
	write, err := d.write(p, p.ordered(func(*row) bool { return true })...)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, tx *sql.Tx) error {
		if err := write(ctx, tx); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `UPDATE plans SET forked_from = $1, forked_at = $2 WHERE task_id = $3`, p.forkedFrom, p.forkedAt, p.task); err != nil {
			return fmt.Errorf("fork: %w", err)
		}
		_, err := tx.ExecContext(ctx, `UPDATE plan_steps SET kept = 1 WHERE task_id = $1`, p.task)
		return err
	}, nil
}
