-- +goose Up
-- What lists and counts by state, owner and context read, so that they need no rows.
-- Each replaces an index that was written at the same moments. No program names an
-- index, so every release runs beside this:
-- oldest: 0
DROP INDEX tasks_of_owner;
CREATE INDEX tasks_of_owner ON tasks (owner, status_at DESC, id, state, context_id);
DROP INDEX tasks_open;
CREATE INDEX tasks_open ON tasks (root_task_id, id, state) WHERE state IN (1, 2, 6, 8);

-- Tasks that ended otherwise than well: few, and written once each.
CREATE INDEX tasks_unwell ON tasks (id, state) WHERE state IN (4, 5, 7);
