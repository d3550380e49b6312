-- +goose Up
-- What screening refused. Texts are never stored: the digest is the SHA-256 of the text
-- that was judged, so that a finding can be matched with a message that is kept elsewhere.
CREATE TABLE findings (
    at             BIGINT NOT NULL, -- microseconds since 1970, UTC
    trace_id       TEXT   NOT NULL,
    digest         TEXT   NOT NULL,
    caller         TEXT   NOT NULL,
    verdict        TEXT   NOT NULL,
    confidence     DOUBLE PRECISION NOT NULL,
    rules          TEXT   NOT NULL, -- rule ids, space-separated, the weightiest first
    policy_version TEXT   NOT NULL,
    PRIMARY KEY (at, trace_id, digest)
);
CREATE INDEX findings_trace ON findings (trace_id);

-- +goose Down
DROP TABLE findings;
