-- +goose Up
CREATE TABLE tasks (
    id               TEXT    NOT NULL PRIMARY KEY,
    owner            TEXT    NOT NULL,
    context_id       TEXT    NOT NULL,
    agent            TEXT    NOT NULL,
    skill            TEXT    NOT NULL,
    root_task_id     TEXT    NOT NULL,
    state            INTEGER NOT NULL,
    status_at        BIGINT  NOT NULL,
    created_at       BIGINT  NOT NULL,
    version          BIGINT  NOT NULL,
    rev              BIGINT  NOT NULL,
    run_owner        TEXT,
    run_epoch        BIGINT  NOT NULL,
    wake_at          BIGINT,
    deadline         BIGINT  NOT NULL,
    attempts         INTEGER NOT NULL,
    takeovers        INTEGER NOT NULL,
    cancel_requested INTEGER NOT NULL,
    info             TEXT    NOT NULL,
    body             BYTEA NOT NULL
);
CREATE INDEX tasks_of_owner ON tasks (owner, status_at DESC, id);
CREATE INDEX tasks_open     ON tasks (root_task_id) WHERE state IN (1, 2, 6, 8);
CREATE INDEX tasks_running  ON tasks (run_owner) WHERE run_owner IS NOT NULL;
CREATE INDEX tasks_waking   ON tasks (wake_at) WHERE wake_at IS NOT NULL;

CREATE TABLE task_messages (
    owner      TEXT   NOT NULL,
    message_id TEXT   NOT NULL,
    task_id    TEXT   NOT NULL,
    digest     TEXT   NOT NULL,
    PRIMARY KEY (owner, message_id)
);

CREATE TABLE outbox (
    replica TEXT   NOT NULL,
    seq     BIGINT NOT NULL,
    body    BYTEA NOT NULL,
    PRIMARY KEY (replica, seq)
);

CREATE TABLE replicas (
    id         TEXT   NOT NULL PRIMARY KEY,
    started_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);

CREATE TABLE store_facts (
    name  TEXT   NOT NULL PRIMARY KEY,
    value BIGINT NOT NULL
);
INSERT INTO store_facts (name, value) VALUES ('epoch', 1);

CREATE TABLE hops (
    task_id          TEXT   NOT NULL,
    root_task_id     TEXT   NOT NULL,
    parent_task_id   TEXT   NOT NULL,
    trace_id         TEXT   NOT NULL,
    caller           TEXT   NOT NULL,
    principal        TEXT   NOT NULL,
    agent            TEXT   NOT NULL,
    agent_version    TEXT   NOT NULL,
    skill            TEXT   NOT NULL,
    protocol_version TEXT   NOT NULL,
    started_at       BIGINT NOT NULL,
    ended_at         BIGINT NOT NULL,
    outcome          TEXT   NOT NULL,
    reason           TEXT   NOT NULL,
    request_digest   TEXT   NOT NULL,
    response_digest  TEXT   NOT NULL,
    admission        TEXT   NOT NULL
);
CREATE INDEX hops_of_root  ON hops (root_task_id) WHERE root_task_id <> '';
CREATE INDEX hops_of_trace ON hops (trace_id);
