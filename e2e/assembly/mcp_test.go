package assembly_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// call is the payload of KALKI's documentation.
const call = `{
  "jsonrpc": "2.0",
  "id": "mcp-req-8842",
  "method": "tools/call",
  "params": {
    "name": "kalki_vector_search",
    "arguments": {
      "query": "quantum encryption standards",
      "top_k": 5,
      "min_confidence": 0.82
    }
  }
}`

func TestMCPPayloadWorksAsWritten(t *testing.T) {
	r := start(t)
	for name, c := range map[string]struct{ body, want string }{
		"as written":          {call, ""},
		"at a low confidence": {strings.Replace(call, "0.82", "0", 1), "published in 2024"},
	} {
		t.Run(name, func(t *testing.T) {
			code, raw := r.post("/mcp", c.body) // no Accept, no version, as a bare curl
			var res struct {
				JSONRPC string `json:"jsonrpc"`
				ID      string `json:"id"`
				Result  struct {
					Content []struct{ Type, Text string } `json:"content"`
					IsError *bool                         `json:"isError"`
				} `json:"result"`
			}
			if err := json.Unmarshal(raw, &res); err != nil || code != http.StatusOK {
				t.Fatalf("%d %s: %v", code, raw, err)
			}
			if res.JSONRPC != "2.0" || res.ID != "mcp-req-8842" || res.Result.IsError == nil || *res.Result.IsError || len(res.Result.Content) < 2 || res.Result.Content[0].Type != "text" {
				t.Fatalf("%s", raw)
			}
			if !strings.Contains(string(raw), c.want) {
				t.Fatalf("%s", raw)
			}
		})
	}
}
