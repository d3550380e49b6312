package plan

import (
	"context"
	"database/sql"
	"fmt"

	"sabha.dev/chassis/service"
	"sabha.dev/chassis/taskstore"
	"sabha.dev/services/planner/playbook"
)

// anyStep stands for whichever step has failed.
const anyStep = "*"

// Facts says which tasks a filter about plans means. What few tasks have in common
// leads; the others are looked up for each of them.
func Facts(f service.PlanFilter) taskstore.Facts {
	facts := taskstore.Facts{Open: f.Retrying}
	if f.Retrying { // those that have not ended are few
		facts.Where = append(facts.Where, taskstore.Condition{SQL: `EXISTS (SELECT 1 FROM plan_steps
			WHERE plan_steps.task_id = tasks.id AND retry_at > 0 AND ended_at = 0 AND child_task = '')`})
	}
	lead := func(walk, where taskstore.Condition) {
		if f.Retrying || facts.Walk.SQL != "" {
			facts.Where = append(facts.Where, where)
		} else {
			facts.Walk = walk
		}
	}
	switch f.FailedStep {
	case "":
	case anyStep:
		lead(taskstore.Condition{SQL: `SELECT DISTINCT task_id FROM plan_failures WHERE task_id > ''`},
			taskstore.Condition{SQL: `EXISTS (SELECT 1 FROM plan_failures WHERE plan_failures.task_id = tasks.id)`})
	default:
		lead(taskstore.Condition{SQL: `SELECT task_id FROM plan_failures WHERE step = ?`, Args: []any{f.FailedStep}},
			taskstore.Condition{SQL: `EXISTS (SELECT 1 FROM plan_failures WHERE plan_failures.task_id = tasks.id AND step = ?)`, Args: []any{f.FailedStep}})
	}
	if f.Agent != "" {
		lead(taskstore.Condition{SQL: `SELECT DISTINCT task_id FROM plan_steps WHERE agent = ?`, Args: []any{f.Agent}},
			taskstore.Condition{SQL: `EXISTS (SELECT 1 FROM plan_steps WHERE plan_steps.task_id = tasks.id AND plan_steps.agent = ?)`, Args: []any{f.Agent}})
	}
	if f.Playbook != "" {
		lead(taskstore.Condition{SQL: `SELECT task_id FROM plans WHERE playbook = ?`, Args: []any{f.Playbook}},
			taskstore.Condition{SQL: `EXISTS (SELECT 1 FROM plans WHERE plans.task_id = tasks.id AND playbook = ?)`, Args: []any{f.Playbook}})
	}
	return facts
}

// failures are the steps among rows that have failed for good.
func failures(rows []*row) []string {
	var steps []string
	for _, r := range rows {
		if r.Kind == stepKind && r.State == playbook.Failed {
			steps = append(steps, r.Step)
		}
	}
	return steps
}

// recordFailures stores which steps have failed, for those who look for them.
func recordFailures(ctx context.Context, tx *sql.Tx, task string, steps []string) error {
	for _, step := range steps {
		if _, err := tx.ExecContext(ctx, `INSERT INTO plan_failures (step, task_id) VALUES ($1, $2) ON CONFLICT (step, task_id) DO NOTHING`, step, task); err != nil {
			return fmt.Errorf("failed step: %w", err)
		}
	}
	return nil
}
