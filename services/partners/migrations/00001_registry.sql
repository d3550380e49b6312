-- oldest: 1
-- +goose Up

-- Agents of other organisations. Times are microseconds since 1970, UTC; 0 is never.
CREATE TABLE registry_partners (
    id            TEXT             NOT NULL PRIMARY KEY,
    revision      BIGINT           NOT NULL, -- grows with each change but those of trust and probes
    organisation  TEXT             NOT NULL,
    name          TEXT             NOT NULL,
    description   TEXT             NOT NULL,
    version       TEXT             NOT NULL,
    tags          TEXT             NOT NULL, -- JSON
    skills        TEXT             NOT NULL, -- JSON
    protocol      TEXT             NOT NULL,
    card_url      TEXT             NOT NULL UNIQUE,
    card          TEXT             NOT NULL, -- as it was received
    digest        TEXT             NOT NULL, -- SHA-256 of the card, hex
    signature     TEXT             NOT NULL, -- what is known of the card's: none, good, unchecked
    hosts         TEXT             NOT NULL, -- JSON: others that its interfaces may be on
    vouch         TEXT             NOT NULL, -- who says whose it is: card, person, credential
    registered_by TEXT             NOT NULL,
    state         TEXT             NOT NULL,
    reason        TEXT             NOT NULL, -- why it was suspended
    discoverable  INTEGER          NOT NULL,
    callable      INTEGER          NOT NULL,
    refused       TEXT             NOT NULL, -- digest of the changed card that a person refused last
    condition     TEXT             NOT NULL, -- of the card since: empty, vanished, invalid, unverified
    problem       TEXT             NOT NULL, -- of the last fetch, in a sentence
    etag          TEXT             NOT NULL,
    fetched_at    BIGINT           NOT NULL,
    fetch_at      BIGINT           NOT NULL, -- when it is fetched again, or who does it now is given up
    online        INTEGER          NOT NULL,
    probed_at     BIGINT           NOT NULL,
    probe_at      BIGINT           NOT NULL,
    probe_problem TEXT             NOT NULL,
    trust         DOUBLE PRECISION NOT NULL,
    trust_parts   TEXT             NOT NULL, -- JSON, empty for none
    created_at    BIGINT           NOT NULL,
    updated_at    BIGINT           NOT NULL
);
CREATE INDEX registry_partners_trust ON registry_partners (trust DESC, id);
CREATE INDEX registry_partners_fetch ON registry_partners (fetch_at);
CREATE INDEX registry_partners_probe ON registry_partners (probe_at);

-- What searches find a partner by: c: capability, o: organisation, t: tag, w: word. They
-- are bytes so that both engines order them alike, whatever the collation.
CREATE TABLE registry_terms (
    term       BYTEA NOT NULL,
    partner_id TEXT  NOT NULL,
    PRIMARY KEY (term, partner_id)
);
CREATE INDEX registry_terms_partner ON registry_terms (partner_id, term);

-- Structural changes of cards: at most one of a partner is pending.
CREATE TABLE registry_changes (
    partner_id TEXT   NOT NULL,
    digest     TEXT   NOT NULL, -- of the card that the partner publishes now
    card       TEXT   NOT NULL,
    diff       TEXT   NOT NULL, -- JSON
    signature  TEXT   NOT NULL,
    found_at   BIGINT NOT NULL,
    PRIMARY KEY (partner_id)
);

-- What happened to a partner. Nothing of it is deleted.
CREATE TABLE registry_history (
    partner_id TEXT   NOT NULL,
    seq        BIGINT NOT NULL, -- from 1
    at         BIGINT NOT NULL,
    actor      TEXT   NOT NULL, -- organisation/subject of a person, or what did it
    what       TEXT   NOT NULL,
    note       TEXT   NOT NULL,
    digest     TEXT   NOT NULL, -- of the card that it is about
    detail     TEXT   NOT NULL, -- JSON, empty for none
    PRIMARY KEY (partner_id, seq)
);

-- Every card that was approved, adopted or refused, by its digest.
CREATE TABLE registry_cards (
    partner_id TEXT   NOT NULL,
    digest     TEXT   NOT NULL,
    card       TEXT   NOT NULL,
    seen_at    BIGINT NOT NULL,
    PRIMARY KEY (partner_id, digest)
);

-- What is to be told on NATS. A row is gone when it was told.
CREATE TABLE partner_events (
    id      TEXT   NOT NULL PRIMARY KEY, -- the broker drops a second one of the same id
    subject TEXT   NOT NULL,
    body    TEXT   NOT NULL, -- JSON
    at      BIGINT NOT NULL
);
CREATE INDEX partner_events_at ON partner_events (at, id);

-- +goose Down
DROP TABLE partner_events;
DROP TABLE registry_cards;
DROP TABLE registry_history;
DROP TABLE registry_changes;
DROP TABLE registry_terms;
DROP TABLE registry_partners;
