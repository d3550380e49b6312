-- +goose Up
CREATE TABLE api_keys (
    id           TEXT   NOT NULL PRIMARY KEY,
    digest       TEXT   NOT NULL UNIQUE,
    organisation TEXT   NOT NULL,
    subject      TEXT   NOT NULL,
    scopes       TEXT   NOT NULL,
    created_at   BIGINT NOT NULL,
    revoked_at   BIGINT,
    last_used    TEXT   NOT NULL DEFAULT ''
);
