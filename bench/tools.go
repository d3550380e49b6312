package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"sabha.dev/bench/load"
	"sabha.dev/chassis/clock"
	"sabha.dev/chassis/identity"
	"sabha.dev/chassis/service"
	"sabha.dev/services/executor"
)

// sum is the tool under measure.
type sum struct {
	A float64 `json:"a"`
	B float64 `json:"b"`
}

type total struct {
	Sum float64 `json:"sum"`
}

// serveTools is an MCP server over standard input and output with one tool.
func serveTools(ctx context.Context) error {
	s := mcp.NewServer(&mcp.Implementation{Name: "bench", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "add", Description: "Adds.", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
		func(_ context.Context, _ *mcp.CallToolRequest, in sum) (*mcp.CallToolResult, total, error) {
			return nil, total{in.A + in.B}, nil
		})
	return s.Run(ctx, &mcp.StdioTransport{})
}

// tools measures a call of a tool over standard input and output through the executor's
// host, with every check, against the bare SDK's client on a server of the same kind.
func (b *bench) tools(ctx context.Context) (err error) {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "sabha-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	host, done, err := hosted(ctx, dir, executor.MCP{Servers: map[string]executor.MCPServer{
		"bench": {Command: []string{self, "tools"}, Trust: "first-use"},
	}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	bare, err := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil).Connect(ctx, &mcp.CommandTransport{Command: exec.Command(self, "tools")}, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, bare.Close()) }()
	arguments := json.RawMessage(`{"a": 20, "b": 22}`)
	through := func(ctx context.Context) error {
		got, err := host.Call(ctx, "bench/add", arguments)
		return errors.Join(err, rightly(string(got) == `{"sum":42}`))
	}
	direct := func(ctx context.Context) error {
		got, err := bare.CallTool(ctx, &mcp.CallToolParams{Name: "add", Arguments: arguments})
		if err != nil {
			return err
		}
		raw, err := json.Marshal(got.StructuredContent)
		return errors.Join(err, rightly(string(raw) == `{"sum":42}`))
	}
	for _, n := range []int{1, 8} {
		var ours, theirs []load.Result
		for range b.rounds {
			for _, side := range []struct {
				call func(context.Context) error
				runs *[]load.Result
			}{{through, &ours}, {direct, &theirs}} {
				r, err := load.Run(ctx, n, b.length, side.call)
				if err != nil {
					return err
				}
				*side.runs = append(*side.runs, r)
			}
		}
		for _, q := range []struct {
			name string
			of   float64
		}{{fmt.Sprintf("MCP call over stdio, %d callers: p50 executor's host / bare SDK", n), .5}, {"  p99", .99}} {
			at := func(runs []load.Result) float64 {
				return load.Median(runs, func(r load.Result) float64 { return float64(r.Quantile(q.of)) / float64(time.Microsecond) })
			}
			b.compare(q.name, fmt.Sprintf("%.0f", at(ours)), fmt.Sprintf("%.0f", at(theirs)), "µs", at(ours)/at(theirs))
		}
	}
	return nil
}

func rightly(well bool) error {
	if !well {
		return errors.New("the answer of the tool is not what it should be")
	}
	return nil
}

// hosted opens the tools of the executor on a database of their own.
func hosted(ctx context.Context, dir string, c executor.MCP) (*executor.Tools, func() error, error) {
	if err := identity.MakeKeys(filepath.Join(dir, "keys"), executor.Name); err != nil {
		return nil, nil, err
	}
	keys, err := identity.LoadKeyring(filepath.Join(dir, "keys"))
	if err != nil {
		return nil, nil, err
	}
	key, err := identity.LoadKey(filepath.Join(dir, "keys", executor.Name+".key"))
	if err != nil {
		return nil, nil, err
	}
	d := executor.New(executor.Config{Config: service.Config{Database: "sqlite:" + filepath.Join(dir, "executor.db")}})
	base, release, err := service.OpenBase(ctx, d, service.Env{
		Clock: clock.System{}, Log: slog.New(slog.DiscardHandler), Key: key, Keys: keys, Network: service.NewMemory(), Exclusive: true,
	})
	if err != nil {
		return nil, nil, err
	}
	tools, err := executor.OpenTools(ctx, c, base)
	if err != nil {
		release()
		return nil, nil, err
	}
	return tools, func() error {
		err := tools.Close()
		release()
		return err
	}, nil
}
