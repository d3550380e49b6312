-- oldest: 1
-- +goose Up

-- Questions to people. A discussion is kept whatever becomes of its task.
CREATE TABLE review_discussions (
    id               TEXT    NOT NULL PRIMARY KEY, -- of the task that asked
    author           TEXT    NOT NULL, -- organisation/subject
    organisation     TEXT    NOT NULL,
    title            TEXT    NOT NULL,
    question         TEXT    NOT NULL,
    tags             TEXT    NOT NULL, -- JSON list
    asked_at         BIGINT  NOT NULL, -- nanoseconds since 1970, UTC, as the times of tasks
    last_activity_at BIGINT  NOT NULL,
    replies          INTEGER NOT NULL,
    remarks          INTEGER NOT NULL  -- further messages of the author, seen so far
);
CREATE INDEX review_discussions_activity ON review_discussions (organisation, last_activity_at DESC, id DESC);
CREATE INDEX review_discussions_author   ON review_discussions (author, last_activity_at DESC, id DESC);

CREATE TABLE review_replies (
    discussion_id TEXT    NOT NULL REFERENCES review_discussions (id),
    number        INTEGER NOT NULL, -- counts from 1
    author        TEXT    NOT NULL,
    text          TEXT    NOT NULL,
    at            BIGINT  NOT NULL,
    PRIMARY KEY (discussion_id, number)
);
CREATE INDEX review_replies_author ON review_replies (author, discussion_id);

-- What people have taken note of. It is independent of tasks.
CREATE TABLE review_acknowledgements (
    person        TEXT    NOT NULL,
    discussion_id TEXT    NOT NULL REFERENCES review_discussions (id),
    up_to         INTEGER NOT NULL,
    PRIMARY KEY (person, discussion_id)
);

-- +goose Down
DROP TABLE review_acknowledgements;
DROP TABLE review_replies;
DROP TABLE review_discussions;
