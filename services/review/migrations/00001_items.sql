-- +goose Up

-- What a list shows of an item, and what decides races: every change raises version
-- and is made only on the version that it was decided on.
CREATE TABLE review_items (
    id                   TEXT    NOT NULL PRIMARY KEY, -- of the review task
    version              BIGINT  NOT NULL,
    digest               TEXT    NOT NULL,
    kind                 INTEGER NOT NULL,
    state                INTEGER NOT NULL,
    title                TEXT    NOT NULL,
    queue                TEXT    NOT NULL,
    groups_json          TEXT    NOT NULL, -- JSON list
    product              TEXT    NOT NULL,
    risk                 TEXT    NOT NULL,
    priority             INTEGER NOT NULL,
    requester            TEXT    NOT NULL, -- organisation/subject
    root_task_id         TEXT    NOT NULL,
    playbook             TEXT    NOT NULL,
    step                 TEXT    NOT NULL,
    trace_id             TEXT    NOT NULL,
    confidence           DOUBLE PRECISION,
    batch_key            TEXT    NOT NULL,
    words                TEXT    NOT NULL, -- what a query looks in, in lower case
    created_at           BIGINT  NOT NULL, -- microseconds since 1970, UTC, as all times here
    due_at               BIGINT  NOT NULL,
    expires_at           BIGINT  NOT NULL, -- 0: never
    next_at              BIGINT  NOT NULL, -- when the policy has the next thing to do; 0: never
    escalations          INTEGER NOT NULL,
    approvals_needed     INTEGER NOT NULL,
    requester_may_decide INTEGER NOT NULL,
    claim_for            BIGINT  NOT NULL, -- microseconds
    holder               TEXT    NOT NULL, -- empty: nobody
    held_until           BIGINT  NOT NULL, -- a claim that is over holds nothing
    messages             INTEGER NOT NULL, -- of the requester, seen so far
    exchanges            INTEGER NOT NULL,
    asked_at             BIGINT  NOT NULL, -- 0: no question is open
    paused               BIGINT  NOT NULL, -- microseconds
    rest                 TEXT    NOT NULL, -- what the policy wants to know later
    ended_at             BIGINT,           -- NULL: open or asked
    outcome_reason       TEXT    NOT NULL
);
-- What is open is listed, searched and counted from these without reading the items;
-- ended_at is in them because SQLite reads it even where it can only be NULL.
CREATE INDEX review_open       ON review_items (due_at, id, asked_at, ended_at, words) WHERE ended_at IS NULL;
CREATE INDEX review_open_queue ON review_items (queue, due_at, id, asked_at, ended_at) WHERE ended_at IS NULL;
CREATE INDEX review_held       ON review_items (holder, due_at, id, held_until, ended_at) WHERE ended_at IS NULL AND holder <> '';
CREATE INDEX review_batches    ON review_items (batch_key, due_at, id, ended_at) WHERE ended_at IS NULL;
CREATE INDEX review_ended      ON review_items (ended_at DESC, id) WHERE ended_at IS NOT NULL;

-- Everything that a decision rests on, as it was when the item was made.
CREATE TABLE review_snapshots (
    item_id TEXT NOT NULL PRIMARY KEY REFERENCES review_items (id),
    body    TEXT NOT NULL -- JSON
);

CREATE TABLE review_decisions (
    item_id  TEXT    NOT NULL REFERENCES review_items (id),
    version  BIGINT  NOT NULL, -- of the item after it
    person   TEXT    NOT NULL,
    approved INTEGER NOT NULL,
    reason   TEXT    NOT NULL,
    digest   TEXT    NOT NULL, -- of what was shown
    stands   TEXT    NOT NULL, -- digest of what was approved
    edited   TEXT    NOT NULL, -- JSON; empty: as it was shown
    at       BIGINT  NOT NULL,
    PRIMARY KEY (item_id, version)
);

CREATE TABLE review_exchanges (
    item_id     TEXT    NOT NULL REFERENCES review_items (id),
    number      INTEGER NOT NULL, -- counts from 1
    asked_by    TEXT    NOT NULL, -- empty: the requester wrote without being asked
    question    TEXT    NOT NULL,
    asked_at    BIGINT  NOT NULL,
    answer      TEXT    NOT NULL,
    answered_at BIGINT  NOT NULL, -- 0: not yet
    PRIMARY KEY (item_id, number)
);

CREATE TABLE review_events (
    item_id TEXT    NOT NULL REFERENCES review_items (id),
    version BIGINT  NOT NULL, -- of the item after it
    number  INTEGER NOT NULL, -- within the version
    at      BIGINT  NOT NULL,
    actor   TEXT    NOT NULL, -- organisation/subject, or "policy"
    what    TEXT    NOT NULL,
    note    TEXT    NOT NULL,
    PRIMARY KEY (item_id, version, number)
);

-- +goose Down
DROP TABLE review_events;
DROP TABLE review_exchanges;
DROP TABLE review_decisions;
DROP TABLE review_snapshots;
DROP TABLE review_items;
