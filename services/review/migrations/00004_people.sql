-- +goose Up

-- Who has been at the desk, with the scopes of the last call, so that items are handed
-- to people who may decide on them.
CREATE TABLE review_people (
    person  TEXT   NOT NULL PRIMARY KEY, -- organisation/subject
    scopes  TEXT   NOT NULL, -- JSON list
    seen_at BIGINT NOT NULL  -- microseconds since 1970, UTC
);

-- +goose Down
DROP TABLE review_people;
