-- +goose Up
-- oldest: 1

-- topic is the digest of subject and predicate of a fact, folded; empty for other kinds.
ALTER TABLE memories ADD COLUMN topic TEXT NOT NULL DEFAULT '';
-- shape is the digest of what the text says without case, punctuation and filler words, to find what is told again.
ALTER TABLE memories ADD COLUMN shape TEXT NOT NULL DEFAULT '';
-- superseded_by is the id of the fact that took the place of this one.
ALTER TABLE memories ADD COLUMN superseded_by TEXT NOT NULL DEFAULT '';
-- details is JSON: the fact or episode, and when and where it was told.
ALTER TABLE memories ADD COLUMN details TEXT NOT NULL DEFAULT '{}';

CREATE INDEX memories_topic ON memories (owner, topic) WHERE topic <> '';
CREATE INDEX memories_shape ON memories (owner, shape) WHERE shape <> '';

-- +goose Down
DROP INDEX memories_shape;
DROP INDEX memories_topic;
ALTER TABLE memories DROP COLUMN details;
ALTER TABLE memories DROP COLUMN superseded_by;
ALTER TABLE memories DROP COLUMN shape;
ALTER TABLE memories DROP COLUMN topic;
