-- +goose Up
-- Steps that wait for people: few of all steps, looked at together again and again.
CREATE INDEX IF NOT EXISTS plan_steps_waiting ON plan_steps (task_id, step, round) WHERE waits_for <> '';
