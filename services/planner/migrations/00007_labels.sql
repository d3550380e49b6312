-- +goose Up
-- Labels of a request's input, and of what each step was sent and answered, as JSON, with
-- what was released. Empty is what nobody has labelled, as all of before: it is not trusted.
ALTER TABLE plans ADD COLUMN labels TEXT NOT NULL DEFAULT '';
ALTER TABLE plan_steps ADD COLUMN labels TEXT NOT NULL DEFAULT '';
