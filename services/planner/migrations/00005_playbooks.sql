-- +goose Up
-- Planners of before know no such text: they would fail plans of newer playbooks.
-- oldest: 5
-- The text of every playbook that a plan has begun with, by its SHA-256. A plan goes on
-- with the text that it began with, on any replica, whatever the files say by then.
CREATE TABLE playbooks (
    digest  TEXT   NOT NULL PRIMARY KEY,
    name    TEXT   NOT NULL,
    version TEXT   NOT NULL,
    source  TEXT   NOT NULL,
    kept_at BIGINT NOT NULL
);
CREATE INDEX IF NOT EXISTS playbooks_of_name ON playbooks (name, version);
ALTER TABLE plans ADD COLUMN digest TEXT NOT NULL DEFAULT '';
