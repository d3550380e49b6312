-- +goose Up
-- oldest: 4

-- account says what the console knows of a person: 0 nothing, 1 an account, 2 one that
-- is disabled.
ALTER TABLE review_people ADD COLUMN account BIGINT NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE review_people DROP COLUMN account;
