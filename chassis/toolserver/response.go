package toolserver

import (
	"bytes"
	"encoding/json"
	"mime"
	"net/http"
	"strconv"
	"strings"
)

// response holds back a JSON answer until it is whole and writes isError out
// where the SDK leaves it out for false; clients of the plain protocol read
// it. A bare client gets a refusal in plain text as a JSON-RPC error. Anything
// else, streams above all, passes through.
type response struct {
	http.ResponseWriter
	bare *message // the request of a bare client

	status int
	body   bytes.Buffer
	hold   bool
	isJSON bool
}

// WriteHeader decides by the content type.
func (r *response) WriteHeader(status int) {
	if r.status != 0 {
		return
	}
	r.status = status
	kind, _, _ := mime.ParseMediaType(r.Header().Get("Content-Type"))
	r.isJSON = kind == "application/json"
	r.hold = r.isJSON || (r.bare != nil && status >= http.StatusBadRequest)
	if !r.hold {
		r.ResponseWriter.WriteHeader(status)
	}
}

// Write holds or passes.
func (r *response) Write(p []byte) (int, error) {
	r.WriteHeader(http.StatusOK)
	if r.hold {
		return r.body.Write(p)
	}
	return r.ResponseWriter.Write(p)
}

// Flush flushes what passes through.
func (r *response) Flush() {
	if f, ok := r.ResponseWriter.(http.Flusher); ok && r.status != 0 && !r.hold {
		f.Flush()
	}
}

// finish sends what was held.
func (r *response) finish() {
	if !r.hold {
		return
	}
	if !r.isJSON {
		refuse(r.ResponseWriter, r.status, r.bare.ID, -32600, strings.TrimSpace(r.body.String()))
		return
	}
	body := complete(r.body.Bytes())
	r.Header().Set("Content-Length", strconv.Itoa(len(body)))
	r.ResponseWriter.WriteHeader(r.status)
	_, _ = r.ResponseWriter.Write(body)
}

// complete adds "isError": false to the result of a tool call that has none.
// An answer that is anything else comes back as it is.
func complete(body []byte) []byte {
	var envelope struct {
		Version json.RawMessage            `json:"jsonrpc"`
		ID      json.RawMessage            `json:"id"`
		Result  map[string]json.RawMessage `json:"result"`
	}
	if json.Unmarshal(body, &envelope) != nil || envelope.Result["content"] == nil || envelope.Result["isError"] != nil {
		return body
	}
	envelope.Result["isError"] = json.RawMessage("false")
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if enc.Encode(envelope) != nil {
		return body
	}
	return out.Bytes()
}
