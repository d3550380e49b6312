-- +goose Up
-- What operators filter requests by. The columns of these indexes never change.
CREATE INDEX IF NOT EXISTS plans_of_playbook   ON plans (playbook, task_id);
CREATE INDEX IF NOT EXISTS plan_steps_of_agent ON plan_steps (agent, task_id);

-- Steps that have failed for good: few, so they have a table of their own, and the
-- many others cost nothing.
CREATE TABLE plan_failures (
    step    TEXT NOT NULL,
    task_id TEXT NOT NULL,
    PRIMARY KEY (step, task_id)
);
CREATE INDEX IF NOT EXISTS plan_failures_of_task ON plan_failures (task_id);
INSERT INTO plan_failures (step, task_id) SELECT DISTINCT step, task_id FROM plan_steps WHERE kind = 'step' AND state = 'FAILED';
