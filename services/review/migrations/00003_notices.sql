-- oldest: 2
-- +goose Up

-- What is to be told of items. A row is gone when it was told.
CREATE TABLE review_notices (
    id       TEXT    NOT NULL PRIMARY KEY, -- item, event and channel
    item_id  TEXT    NOT NULL,
    channel  TEXT    NOT NULL, -- event, mail or chat
    what     TEXT    NOT NULL,
    queue    TEXT    NOT NULL,
    body     TEXT    NOT NULL, -- JSON; empty: made when the time has come
    send_at  BIGINT  NOT NULL, -- when to tell it or to try again, microseconds since 1970, UTC
    attempts INTEGER NOT NULL,
    problem  TEXT    NOT NULL  -- of the last attempt
);
CREATE INDEX review_notices_due ON review_notices (send_at, id);

-- +goose Down
DROP TABLE review_notices;
