-- +goose Up
-- A plan that was made out of another one, and the step that it began again at. Steps
-- that it has kept are the other plan's work, and not its own to undo.
ALTER TABLE plans ADD COLUMN forked_from TEXT NOT NULL DEFAULT '';
ALTER TABLE plans ADD COLUMN forked_at TEXT NOT NULL DEFAULT '';
ALTER TABLE plan_steps ADD COLUMN kept INTEGER NOT NULL DEFAULT 0;
