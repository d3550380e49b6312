-- oldest: 1
-- +goose Up

-- What the data of a call is used for, and where the consent to it is on record.
ALTER TABLE crossings ADD COLUMN purpose TEXT NOT NULL DEFAULT '';
ALTER TABLE crossings ADD COLUMN consent TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE crossings DROP COLUMN consent;
ALTER TABLE crossings DROP COLUMN purpose;
