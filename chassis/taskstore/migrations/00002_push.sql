-- +goose Up
ALTER TABLE tasks ADD COLUMN push INTEGER NOT NULL DEFAULT 0;

-- A push configuration with its place in the events of its task. Events up to
-- version are delivered, up to target committed. due_at is when there is something
-- to do: in the past while it is being done, by the replica that claimed it.
CREATE TABLE push_configs (
    task_id     TEXT    NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    id          TEXT    NOT NULL,
    created_at  BIGINT  NOT NULL,
    config      BYTEA   NOT NULL,
    version     BIGINT  NOT NULL,
    target      BIGINT  NOT NULL,
    due_at      BIGINT,
    claimed_by  TEXT,
    claim       BIGINT  NOT NULL,
    failures    INTEGER NOT NULL,
    reason      TEXT    NOT NULL,
    disabled_at BIGINT,
    PRIMARY KEY (task_id, id)
);
CREATE INDEX push_due  ON push_configs (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX push_dead ON push_configs (disabled_at) WHERE disabled_at IS NOT NULL;
