-- +goose Up
-- oldest: 1

-- Guesses at names and from addresses, by the digest of either; full_at is when it may be
-- guessed at as often as ever again, in nanoseconds of Unix time.
CREATE TABLE guesses (
    digest  TEXT   NOT NULL PRIMARY KEY,
    full_at BIGINT NOT NULL
);
CREATE INDEX guesses_by_end ON guesses (full_at);

-- +goose Down
DROP TABLE guesses;
