package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/google/uuid"
)

// startJS runs the JavaScript SDK's server with its DatabaseTaskStore on
// better-sqlite3 in the same sync mode.
func startJS(ctx context.Context, dir, sync string) (*process, error) {
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	data, err := os.MkdirTemp("", "sabha-bench-js-")
	if err != nil {
		return nil, err
	}
	p := &process{dir: data, address: address}
	p.cmd = exec.CommandContext(ctx, "node", "server.mjs", address, filepath.Join(data, "tasks.db"), sync)
	p.cmd.Dir = dir
	return p, p.launch()
}

var httpClient = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: callers}}

// sendJSON sends a message over JSON-RPC and checks that a completed task came back.
func sendJSON(address string) func(context.Context) error {
	return func(ctx context.Context) error {
		body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": map[string]any{
			"message": map[string]any{"messageId": uuid.NewString(), "role": "ROLE_USER", "parts": []any{map[string]any{"text": payload}}},
		}})
		if err != nil {
			return err
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+address+"/", bytes.NewReader(body))
		if err != nil {
			return err
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("A2A-Version", "1.0")
		res, err := httpClient.Do(req)
		if err != nil {
			return err
		}
		defer func() { _ = res.Body.Close() }()
		raw, err := io.ReadAll(res.Body)
		if err != nil {
			return err
		}
		if !bytes.Contains(raw, []byte(`"TASK_STATE_COMPLETED"`)) {
			return fmt.Errorf("the task did not complete: %s", raw)
		}
		return nil
	}
}
