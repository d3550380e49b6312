-- +goose Up
-- Steps that wait for their next try: few at a time, so they have a table of their
-- own, and the many others cost nothing.
CREATE TABLE plan_retries (
    task_id TEXT    NOT NULL,
    kind    TEXT    NOT NULL,
    step    TEXT    NOT NULL,
    round   INTEGER NOT NULL,
    PRIMARY KEY (task_id, kind, step, round)
);
INSERT INTO plan_retries (task_id, kind, step, round)
    SELECT task_id, kind, step, round FROM plan_steps WHERE retry_at > 0 AND ended_at = 0 AND child_task = '';
