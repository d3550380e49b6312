-- +goose Up
-- What lists and counts by state, owner and context read, so that they need no rows.
-- The first two replace indexes that were written at the same moments. No program
-- names an index, so every release runs beside this:
-- oldest: 0
CREATE INDEX IF NOT EXISTS tasks_by_owner ON tasks (owner, status_at DESC, id, state, context_id);
CREATE INDEX IF NOT EXISTS tasks_unended  ON tasks (root_task_id, id, state) WHERE state IN (1, 2, 6, 8);
DROP INDEX IF EXISTS tasks_of_owner;
DROP INDEX IF EXISTS tasks_open;

-- Tasks that ended otherwise than well: few, and written once each.
CREATE INDEX IF NOT EXISTS tasks_unwell ON tasks (id, state) WHERE state IN (4, 5, 7);
