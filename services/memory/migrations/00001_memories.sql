-- +goose Up
CREATE TABLE memories (
    id         TEXT   PRIMARY KEY,
    owner      TEXT   NOT NULL, -- organisation and subject of the principal
    context    TEXT   NOT NULL, -- A2A context; empty for long-term
    kind       TEXT   NOT NULL, -- context or long_term
    body       TEXT   NOT NULL,
    tags       TEXT   NOT NULL, -- JSON list
    labels     TEXT   NOT NULL, -- JSON: integrity and confidentiality of what was sent
    created_at BIGINT NOT NULL, -- microseconds since 1970, UTC
    expires_at BIGINT NOT NULL  -- the same; 0 for never
);

CREATE INDEX memories_owner ON memories (owner, context);
CREATE INDEX memories_expiry ON memories (expires_at) WHERE expires_at > 0;

-- What a message did, so that the same message sent again does nothing more.
CREATE TABLE memory_receipts (
    owner      TEXT   NOT NULL,
    message_id TEXT   NOT NULL,
    digest     TEXT   NOT NULL, -- of the message; empty once what it told was forgotten
    answer     TEXT   NOT NULL, -- id of the memory, or the count of forgotten ones
    created_at BIGINT NOT NULL,
    PRIMARY KEY (owner, message_id)
);

CREATE INDEX memory_receipts_answer ON memory_receipts (owner, answer);
CREATE INDEX memory_receipts_age ON memory_receipts (created_at);

-- +goose Down
DROP TABLE memory_receipts;
DROP TABLE memories;
