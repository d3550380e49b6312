-- oldest: 3
-- +goose Up

-- Contract tests of partners. Times are microseconds since 1970, UTC; 0 is never.

-- One row a partner with golden tasks: its schedule, and the lease of the replica that
-- runs them. A run is written only under the epoch that claimed it.
CREATE TABLE contract_suites (
    partner     TEXT    NOT NULL PRIMARY KEY,
    runs        BIGINT  NOT NULL, -- the number of the last run
    waiting     INTEGER NOT NULL, -- runs that were asked for by hand and are not done
    next_at     BIGINT  NOT NULL, -- when the schedule has the next one
    epoch       BIGINT  NOT NULL,
    claim_until BIGINT  NOT NULL
);

CREATE TABLE contract_runs (
    partner    TEXT             NOT NULL,
    number     BIGINT           NOT NULL, -- from 1
    baseline   BIGINT           NOT NULL, -- that it belongs to or is compared with; 0: none
    state      TEXT             NOT NULL, -- waiting, running, done, unreachable or abandoned
    asked_by   TEXT             NOT NULL, -- empty: the schedule
    reason     TEXT             NOT NULL,
    created_at BIGINT           NOT NULL,
    started_at BIGINT           NOT NULL,
    ended_at   BIGINT           NOT NULL,
    attempts   INTEGER          NOT NULL,
    calls      INTEGER          NOT NULL,
    good       INTEGER          NOT NULL,
    failed     INTEGER          NOT NULL, -- calls without an answer
    look       DOUBLE PRECISION NOT NULL, -- the probability of the look after it when nothing has changed; 1: no look
    samples    TEXT             NOT NULL, -- JSON: what was measured
    PRIMARY KEY (partner, number)
);
CREATE INDEX contract_runs_baseline ON contract_runs (partner, baseline, state, number);

-- Baselines, the latest of a partner in force. Its runs are the first ones that have its number.
CREATE TABLE contract_baselines (
    partner     TEXT    NOT NULL,
    number      BIGINT  NOT NULL,
    digest      TEXT    NOT NULL, -- of the golden tasks
    size        INTEGER NOT NULL,
    begun_at    BIGINT  NOT NULL,
    complete_at BIGINT  NOT NULL,
    begun_by    TEXT    NOT NULL, -- empty: the first, or the golden tasks changed
    reason      TEXT    NOT NULL,
    PRIMARY KEY (partner, number)
);

-- What was found. The organisation is kept so that another name does not lose it.
CREATE TABLE contract_verdicts (
    partner      TEXT    NOT NULL,
    number       BIGINT  NOT NULL, -- of the run
    kind         TEXT    NOT NULL, -- drift, failing or unsteady
    organisation TEXT    NOT NULL,
    action       TEXT    NOT NULL, -- tell, lower or suspend
    found_at     BIGINT  NOT NULL,
    quiet        INTEGER NOT NULL, -- runs since, without it
    closed_at    BIGINT  NOT NULL,
    closed_by    TEXT    NOT NULL,
    figures      TEXT    NOT NULL, -- JSON
    PRIMARY KEY (partner, number, kind)
);
CREATE INDEX contract_verdicts_found ON contract_verdicts (found_at);

-- What is still to be done of verdicts: events to publish, partners to suspend.
CREATE TABLE contract_notices (
    id       TEXT    NOT NULL PRIMARY KEY,
    channel  TEXT    NOT NULL, -- event or suspend
    partner  TEXT    NOT NULL,
    what     TEXT    NOT NULL,
    body     TEXT    NOT NULL,
    send_at  BIGINT  NOT NULL,
    attempts INTEGER NOT NULL
);
CREATE INDEX contract_notices_due ON contract_notices (send_at, id);

-- +goose Down
DROP TABLE contract_notices;
DROP TABLE contract_verdicts;
DROP TABLE contract_baselines;
DROP TABLE contract_runs;
DROP TABLE contract_suites;
