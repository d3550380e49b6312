-- +goose Up

-- What has become of the call that a task makes to a partner. The body is JSON.
CREATE TABLE partner_calls (
    task       TEXT   NOT NULL PRIMARY KEY,
    partner    TEXT   NOT NULL,
    skill      TEXT   NOT NULL,
    -- hook is the SHA-256 of the secret with which the partner may wake the task, or NULL.
    hook       TEXT,
    body       BYTEA  NOT NULL,
    updated_at BIGINT NOT NULL
);
CREATE INDEX partner_calls_hook ON partner_calls (hook);
-- Old rows are removed by time.
CREATE INDEX partner_calls_updated ON partner_calls (updated_at);
