package binding

import (
	"bytes"
	"encoding/json"
)

// rpcRequest is a JSON-RPC 2.0 request object. ID and params are the client's own
// bytes, so an id comes back exactly as it was sent.
type rpcRequest struct {
	id     []byte
	method string
	params []byte
}

// Codes of JSON-RPC 2.0 (specification 9.5).
const (
	codeParse          = -32700
	codeInvalidRequest = -32600
	codeNoMethod       = -32601
	codeInvalidParams  = -32602
	codeInternal       = -32603
)

// rpcFault is an error of the envelope itself.
type rpcFault struct {
	code    int
	message string
}

func invalidRequest(problem string) *rpcFault {
	return &rpcFault{codeInvalidRequest, "Request payload validation error: " + problem}
}

// parseRequest reads a request object. What it could read of the id is in the
// result also when there is a fault; otherwise the id is null, as JSON-RPC wants.
func parseRequest(text []byte) (rpcRequest, *rpcFault) {
	req := rpcRequest{id: null}
	if !json.Valid(text) {
		return req, &rpcFault{codeParse, "Invalid JSON payload"}
	}
	text = bytes.TrimSpace(text)
	switch text[0] {
	case '{':
	case '[':
		return req, invalidRequest("A2A has no batches; send one request object at a time")
	default:
		return req, invalidRequest("a request is a JSON object")
	}
	members, ok := split(text)
	if !ok {
		return req, invalidRequest("a member of the request object is there twice")
	}
	id, hasID := members["id"]
	if hasID {
		if !idLike(id) {
			return req, invalidRequest("id must be a string, a number or null")
		}
		req.id = id
	}
	if string(members["jsonrpc"]) != `"2.0"` {
		return req, invalidRequest(`jsonrpc must be "2.0"`)
	}
	if err := json.Unmarshal(members["method"], &req.method); err != nil || req.method == "" {
		return req, invalidRequest("method must be the name of an A2A operation, such as SendMessage")
	}
	if !hasID {
		return req, invalidRequest("id is missing; every A2A operation has an answer")
	}
	req.params = members["params"]
	return req, nil
}

// idLike tells strings, numbers and null.
func idLike(value []byte) bool {
	switch value[0] {
	case '"', '-', 'n':
		return true
	}
	return '0' <= value[0] && value[0] <= '9'
}

// split takes a valid JSON object apart into the four members of a request
// object, without copying. It is false when one of them is there twice: which one
// counts would depend on who reads it.
func split(object []byte) (members map[string][]byte, ok bool) {
	members = make(map[string][]byte, 4)
	i := skipSpace(object, 1)
	for object[i] != '}' {
		end := skipValue(object, i)
		name := memberName(object[i:end])
		i = skipSpace(object, end) // the colon
		i = skipSpace(object, i+1) // the value
		end = skipValue(object, i)
		switch name {
		case "jsonrpc", "id", "method", "params":
			if _, twice := members[name]; twice {
				return nil, false
			}
			members[name] = object[i:end]
		}
		i = skipSpace(object, end)
		if object[i] == ',' {
			i = skipSpace(object, i+1)
		}
	}
	return members, true
}

func memberName(quoted []byte) string {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return string(quoted[1 : len(quoted)-1])
	}
	var name string
	// The text is valid JSON, so this cannot fail.
	_ = json.Unmarshal(quoted, &name)
	return name
}

func skipSpace(text []byte, i int) int {
	for text[i] == ' ' || text[i] == '\t' || text[i] == '\n' || text[i] == '\r' {
		i++
	}
	return i
}

// skipValue gives the index after the value that begins at i.
func skipValue(text []byte, i int) int {
	level := 0
	for {
		switch text[i] {
		case '"':
			for i++; text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			level++
		case '}', ']':
			if level == 0 {
				return i
			}
			level--
		case ',', ':', ' ', '\t', '\n', '\r':
			if level == 0 {
				return i
			}
			i++
			continue
		default:
			if level == 0 {
				// A number or a literal ends where punctuation begins.
				i++
				continue
			}
		}
		i++
		if level == 0 {
			return i
		}
	}
}
