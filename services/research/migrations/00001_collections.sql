-- +goose Up
CREATE TABLE collections (
    name       TEXT PRIMARY KEY,
    generation BIGINT NOT NULL -- grows with every change of a document
);

CREATE TABLE documents (
    collection  TEXT   NOT NULL REFERENCES collections (name) ON DELETE CASCADE,
    name        TEXT   NOT NULL, -- slash-separated, relative to the folder
    version     BIGINT NOT NULL, -- the generation that wrote it
    title       TEXT   NOT NULL,
    format      TEXT   NOT NULL,
    digest      TEXT   NOT NULL, -- of the file's bytes
    bytes       BIGINT NOT NULL,
    metadata    TEXT   NOT NULL, -- JSON: key to list of values
    embedding   TEXT   NOT NULL, -- embedder of the vectors
    splitter    TEXT   NOT NULL, -- how the passages were cut
    ingested_at TEXT   NOT NULL, -- RFC 3339, UTC
    PRIMARY KEY (collection, name)
);

CREATE TABLE chunks (
    collection   TEXT   NOT NULL,
    document     TEXT   NOT NULL,
    ordinal      BIGINT NOT NULL,
    heading_path TEXT   NOT NULL, -- JSON list, the outermost first
    start_byte   BIGINT NOT NULL,
    end_byte     BIGINT NOT NULL, -- excluded
    words        BIGINT NOT NULL,
    body         TEXT   NOT NULL,
    PRIMARY KEY (collection, document, ordinal),
    FOREIGN KEY (collection, document) REFERENCES documents (collection, name) ON DELETE CASCADE
);

CREATE TABLE vectors (
    collection TEXT   NOT NULL,
    document   TEXT   NOT NULL,
    ordinal    BIGINT NOT NULL,
    -- little-endian 32-bit floats; BYTEA is PostgreSQL's name, SQLite takes any
    embedding  BYTEA  NOT NULL,
    PRIMARY KEY (collection, document, ordinal),
    FOREIGN KEY (collection, document, ordinal) REFERENCES chunks (collection, document, ordinal) ON DELETE CASCADE
);

-- +goose Down
DROP TABLE vectors;
DROP TABLE chunks;
DROP TABLE documents;
DROP TABLE collections;
