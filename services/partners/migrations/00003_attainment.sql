-- oldest: 1
-- +goose Up

-- How often what happened at a skill of a partner within a minute, an hour or a day. A row
-- is one count, which replicas add to; what is past is rolled up into the longer spans.
CREATE TABLE partner_attainment (
    partner TEXT   NOT NULL,
    skill   TEXT   NOT NULL, -- empty: the partner as a whole, which is what probes ask
    at      BIGINT NOT NULL, -- where the span begins, seconds since 1970, UTC
    span    TEXT   NOT NULL, -- m, h or d
    what    TEXT   NOT NULL, -- ok, failed, …; #n: answers whose time lies in slot n
    n       BIGINT NOT NULL,
    PRIMARY KEY (partner, skill, at, span, what)
);
CREATE INDEX partner_attainment_past ON partner_attainment (span, at);

-- Batches of counts that were written, so that one whose answer was lost is not added twice.
CREATE TABLE partner_batches (
    id TEXT   NOT NULL PRIMARY KEY,
    at BIGINT NOT NULL
);

-- Months whose reports were written, or are being written until a time.
CREATE TABLE partner_reports (
    month TEXT    NOT NULL PRIMARY KEY, -- 2026-11
    until BIGINT  NOT NULL,             -- seconds since 1970
    done  INTEGER NOT NULL
);

-- Breakers that are not closed, by the replica that holds calls back.
CREATE TABLE partner_breakers (
    replica  TEXT   NOT NULL,
    partner  TEXT   NOT NULL,
    skill    TEXT   NOT NULL,
    state    TEXT   NOT NULL, -- open or half-open
    why      TEXT   NOT NULL, -- failures or slowness
    since    BIGINT NOT NULL, -- microseconds since 1970, UTC
    retry_at BIGINT NOT NULL, -- 0: now
    PRIMARY KEY (replica, partner, skill)
);

-- +goose Down
DROP TABLE partner_breakers;
DROP TABLE partner_reports;
DROP TABLE partner_batches;
DROP TABLE partner_attainment;
