-- oldest: 1
-- +goose Up

-- How the tasks of partners stand as verified notifications tell. The body is a Task of
-- A2A in protobuf.
CREATE TABLE partner_states (
    hook       TEXT   NOT NULL PRIMARY KEY, -- as in partner_calls
    epoch      BIGINT NOT NULL,
    version    BIGINT NOT NULL,
    body       BYTEA  NOT NULL,
    updated_at BIGINT NOT NULL -- nanoseconds since 1970, UTC
);
CREATE INDEX partner_states_updated ON partner_states (updated_at);

-- +goose Down
DROP TABLE partner_states;
