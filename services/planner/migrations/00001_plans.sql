-- +goose Up
CREATE TABLE plans (
    task_id  TEXT NOT NULL PRIMARY KEY,
    playbook TEXT NOT NULL,
    version  TEXT NOT NULL,
    input    TEXT NOT NULL,
    loops    TEXT NOT NULL,
    phase    TEXT NOT NULL,
    reasons  TEXT NOT NULL
);

CREATE TABLE plan_steps (
    task_id     TEXT    NOT NULL,
    kind        TEXT    NOT NULL,
    step        TEXT    NOT NULL,
    round       INTEGER NOT NULL,
    attempt     INTEGER NOT NULL,
    call        INTEGER NOT NULL,
    state       TEXT    NOT NULL,
    waits_for   TEXT    NOT NULL,
    asked_at    BIGINT  NOT NULL,
    asked_after INTEGER NOT NULL,
    answer      TEXT    NOT NULL,
    agent       TEXT    NOT NULL,
    skill       TEXT    NOT NULL,
    inputs      TEXT    NOT NULL,
    child_task  TEXT    NOT NULL,
    output      TEXT    NOT NULL,
    reason      TEXT    NOT NULL,
    started_at  BIGINT  NOT NULL,
    ended_at    BIGINT  NOT NULL,
    retry_at    BIGINT  NOT NULL,
    due_at      BIGINT  NOT NULL,
    PRIMARY KEY (task_id, kind, step, round)
);
