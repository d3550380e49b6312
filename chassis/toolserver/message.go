package toolserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Modern is the first version of MCP without sessions; a client of it says on each
// request what older ones say once.
const Modern = "2026-07-28"

const (
	versionHeader = "Mcp-Protocol-Version"
	sessionHeader = "Mcp-Session-Id"
)

// message is what has to be known of a request before the SDK reads it.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Meta map[string]any `json:"_meta"`
	} `json:"params"`
}

// read reads a request; one that is no request reads as empty. The error says what
// no reader could make sense of.
func read(body []byte) (message, error) {
	if !json.Valid(body) {
		return message{}, errors.New("the request is not JSON")
	}
	if err := twice(body, 2); err != nil {
		return message{}, err
	}
	var m message
	if json.Unmarshal(body, &m) != nil {
		return message{}, nil
	}
	return m, nil
}

// twice refuses an envelope in which a key is given twice: two readers would see two
// requests. What is deeper, the arguments, is the tool's to check.
func twice(raw json.RawMessage, levels int) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	seen := map[string]bool{}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return nil
		}
		key, _ := t.(string)
		if seen[key] {
			return fmt.Errorf("the key %q is given twice", key)
		}
		seen[key] = true
		var value json.RawMessage
		if d.Decode(&value) != nil {
			return nil
		}
		if key == "params" && levels > 1 {
			if err := twice(value, levels-1); err != nil {
				return err
			}
		}
	}
	return nil
}

// bare tells whether a client speaks JSON-RPC and no MCP transport: it names no
// version in a header or in the message, no session, and does not initialize. Such
// a client gets the headers that the SDK asks for.
func (m message) bare(h http.Header) bool {
	return h.Get(versionHeader) == "" && h.Get(sessionHeader) == "" &&
		m.Method != "initialize" && m.Params.Meta[mcp.MetaKeyProtocolVersion] == nil
}

// modern tells whether a client speaks the version without sessions.
func (m message) modern(h http.Header) bool {
	said, _ := m.Params.Meta[mcp.MetaKeyProtocolVersion].(string)
	return h.Get(versionHeader) >= Modern || said >= Modern
}

// streams tells whether something may have to be told before the answer.
func (m message) streams() bool {
	return m.Params.Meta["progressToken"] != nil || m.Params.Meta["io.modelcontextprotocol/logLevel"] != nil || m.Method == "subscriptions/listen"
}

// check answers what a bare client cannot ask for as JSON-RPC has it; the SDK would
// say it in plain text.
func (m message) check(w http.ResponseWriter) bool {
	switch {
	case m.Method == "":
		refuse(w, http.StatusBadRequest, m.ID, -32600, "this is not a JSON-RPC request; it needs jsonrpc, id, method and params")
		return false
	case m.Method != "tools/call" && m.Method != "tools/list" && m.Method != "ping" && !strings.HasPrefix(m.Method, "notifications/"):
		refuse(w, http.StatusNotFound, m.ID, -32601, "no method of that name; there are tools/list, tools/call and ping")
		return false
	}
	return true
}

// refuse answers with a JSON-RPC error; the id is null where it is not known.
func refuse(w http.ResponseWriter, status int, id json.RawMessage, code int, message string) {
	body, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": code, "message": message},
	})
	if err != nil {
		http.Error(w, message, status)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body)
}
