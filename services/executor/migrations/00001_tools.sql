-- +goose Up

-- What MCP servers say of their tools, and what people have approved of it.
CREATE TABLE mcp_tools (
    server      TEXT   NOT NULL,
    tool        TEXT   NOT NULL,
    -- The definition that the server listed last: JSON, and its SHA-256 in hex.
    definition  BYTEA  NOT NULL,
    digest      TEXT   NOT NULL,
    -- The definition that may be called, and the digest of the one that was refused last; empty for none.
    approved_definition BYTEA NOT NULL,
    approved    TEXT   NOT NULL,
    refused     TEXT   NOT NULL,
    changed_at  BIGINT NOT NULL, -- microseconds since 1970, UTC: when the server began to say so
    PRIMARY KEY (server, tool)
);

-- What happened to them, the oldest first.
CREATE TABLE mcp_tool_history (
    server TEXT   NOT NULL,
    tool   TEXT   NOT NULL,
    seq    BIGINT NOT NULL,
    at     BIGINT NOT NULL, -- as above
    what   TEXT   NOT NULL, -- listed, changed, approved or refused
    actor  TEXT   NOT NULL, -- organisation/subject of a person, or what did it
    digest TEXT   NOT NULL,
    note   TEXT   NOT NULL,
    PRIMARY KEY (server, tool, seq)
);
