package executor

import (
	"context"
	"encoding/json"
	"errors"

	"sabha.dev/chassis/service"
	"sabha.dev/services/executor/internal/a2aagent"
	"sabha.dev/services/executor/internal/allow"
	"sabha.dev/services/executor/internal/sqlstore"
	"sabha.dev/services/executor/internal/toolhost"
)

// Tools are those of MCP servers, with what decides on calls of them.
type Tools struct {
	host    *toolhost.Host
	policy  *allow.Policy
	outlets map[string]a2aagent.Outlet
}

// OpenTools connects the servers of a configuration without the agent before them, for
// measures. b has the executor's tables.
func OpenTools(ctx context.Context, c MCP, b *service.Base) (*Tools, error) {
	return openTools(ctx, c, b, sqlstore.New(b.DB, b.Clock))
}

func openTools(ctx context.Context, c MCP, b *service.Base, store *sqlstore.Store) (*Tools, error) {
	servers, err := c.hosted(b.Clock, b.Log)
	if err != nil {
		return nil, err
	}
	t := &Tools{}
	if t.policy, err = allow.Read(c.Policy); err != nil {
		return nil, err
	}
	if store == nil {
		return nil, errors.New("mcp: a database is needed, for what is approved of tools")
	}
	if t.outlets, err = c.outlets(b.Outlets); err != nil {
		return nil, err
	}
	counts := newFigures(store)
	if err := counts.register(b.Metrics()); err != nil {
		return nil, err
	}
	t.host, err = toolhost.New(ctx, toolhost.Config{Servers: servers, Ledger: store, Clock: b.Clock, Log: b.Log, Called: counts.called})
	if err != nil {
		return nil, err
	}
	counts.servers = t.host.Servers
	return t, nil
}

// Call calls a tool by its name: it is found, its approval and its arguments are checked,
// and its answer is. The structured result is JSON; nil is none.
func (t *Tools) Call(ctx context.Context, name string, arguments json.RawMessage) (json.RawMessage, error) {
	found, err := t.host.Tool(ctx, name)
	if err != nil {
		return nil, err
	}
	res, err := t.host.Call(ctx, toolhost.Call{Tool: found, Arguments: arguments})
	return res.Structured, err
}

// Close ends the servers.
func (t *Tools) Close() error { return t.host.Close() }
