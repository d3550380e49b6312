-- +goose Up
-- People who may sign in. source is "local" for those whose password is kept here,
-- or the issuer that signs them in. provisional says that somebody else has seen the
-- password. Times are nanoseconds of Unix time.
CREATE TABLE accounts (
    organisation TEXT   NOT NULL,
    subject      TEXT   NOT NULL,
    name         TEXT   NOT NULL,
    source       TEXT   NOT NULL,
    hash         TEXT   NOT NULL,
    provisional  BIGINT NOT NULL,
    roles        TEXT   NOT NULL,
    member_of    TEXT   NOT NULL,
    disabled     BIGINT NOT NULL,
    created_at   BIGINT NOT NULL,
    signed_in_at BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (organisation, subject)
);
-- digest is that of the token in the browser's cookie, which is not kept.
CREATE TABLE sessions (
    digest       TEXT   NOT NULL PRIMARY KEY,
    organisation TEXT   NOT NULL,
    subject      TEXT   NOT NULL,
    created_at   BIGINT NOT NULL,
    used_at      BIGINT NOT NULL,
    ends_at      BIGINT NOT NULL
);
CREATE INDEX sessions_of_account ON sessions (organisation, subject);
CREATE INDEX sessions_by_end ON sessions (ends_at);
CREATE TABLE saved_filters (
    id           TEXT   NOT NULL PRIMARY KEY,
    organisation TEXT   NOT NULL,
    subject      TEXT   NOT NULL,
    page         TEXT   NOT NULL,
    name         TEXT   NOT NULL,
    query        TEXT   NOT NULL,
    shared       BIGINT NOT NULL,
    created_at   BIGINT NOT NULL,
    UNIQUE (organisation, subject, page, name)
);
CREATE INDEX saved_filters_of_page ON saved_filters (organisation, page);
