-- oldest: 1
-- +goose Up

-- What left for partners and what came from them: findings, never values. Times are
-- microseconds since 1970, UTC.
CREATE TABLE crossings (
    id        TEXT    NOT NULL PRIMARY KEY,
    at        BIGINT  NOT NULL,
    task_id   TEXT    NOT NULL,
    partner   TEXT    NOT NULL,
    skill     TEXT    NOT NULL,
    direction TEXT    NOT NULL, -- out, in
    bytes     BIGINT  NOT NULL,
    digest    TEXT    NOT NULL, -- SHA-256, hex; empty when refused
    policy    TEXT    NOT NULL,
    refused   INTEGER NOT NULL,
    classes   TEXT    NOT NULL, -- sorted, each between spaces
    findings  TEXT    NOT NULL, -- JSON
    more      INTEGER NOT NULL  -- findings that are not kept
);
CREATE INDEX crossings_at ON crossings (at, id);
CREATE INDEX crossings_partner ON crossings (partner, at, id);
CREATE INDEX crossings_task ON crossings (task_id, at, id);

-- +goose Down
DROP TABLE crossings;
