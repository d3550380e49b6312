-- oldest: 1
-- +goose Up
CREATE TABLE kap_usage (
    caller    TEXT   NOT NULL PRIMARY KEY,
    minute    BIGINT NOT NULL,
    in_minute BIGINT NOT NULL,
    day       BIGINT NOT NULL,
    in_day    BIGINT NOT NULL
);
