package plan

import (
	"sabha.dev/chassis/service"
	"sabha.dev/chassis/taskstore"
	"sabha.dev/services/planner/playbook"
)

// anyStep stands for whichever step has failed.
const anyStep = "*"

// Facts says which tasks a filter about plans means. What few tasks have in common
// leads; the others are looked up for each of them.
func Facts(f service.PlanFilter) taskstore.Facts {
	var facts taskstore.Facts
	lead := func(walk, where taskstore.Condition) {
		if facts.Walk.SQL != "" {
			facts.Where = append(facts.Where, where)
		} else {
			facts.Walk = walk
		}
	}
	if f.Retrying {
		lead(taskstore.Condition{SQL: `SELECT DISTINCT task_id FROM plan_retries WHERE task_id > ''`}, taskstore.Condition{})
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

// exceptions are statements that record what is so of few steps: those that have
// failed for good, and those that wait for their next try, until they do no more.
func exceptions(task string, rows []*row) []taskstore.Condition {
	var list []taskstore.Condition
	for _, r := range rows {
		if r.Kind == stepKind && r.State == playbook.Failed {
			list = append(list, taskstore.Condition{SQL: `INSERT INTO plan_failures (step, task_id) VALUES ($1, $2) ON CONFLICT (step, task_id) DO NOTHING`, Args: []any{r.Step, task}})
		}
		if r.RetryAt.IsZero() {
			continue
		}
		sql := `DELETE FROM plan_retries WHERE task_id = $1 AND kind = $2 AND step = $3 AND round = $4`
		if r.EndedAt.IsZero() && r.ChildTask == "" {
			sql = `INSERT INTO plan_retries (task_id, kind, step, round) VALUES ($1, $2, $3, $4) ON CONFLICT (task_id, kind, step, round) DO NOTHING`
		}
		list = append(list, taskstore.Condition{SQL: sql, Args: []any{task, string(r.Kind), r.Step, r.Round}})
	}
	return list
}
