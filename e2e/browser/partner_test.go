//go:build browser

package browser

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// published is the card of the agent of another organisation, with names that mean harm.
const published = `{"name":"Underwriting <b>desk</b>","description":"Decides on loans.\u202e <script>document.title='run'</script>","version":"1.0",
"supportedInterfaces":[{"url":"BASE/a2a","protocolBinding":"JSONRPC","protocolVersion":"1.0"}],"capabilities":{},"defaultInputModes":["application/json"],"defaultOutputModes":["application/json"],
"skills":[{"id":"underwrite","name":"Underwrite","description":"Says whether a loan can be given, and why.","tags":["loans","risk"]}]}`

// answer is what the agent says to every message.
const answer = `{"jsonrpc":"2.0","id":%s,"result":{"message":{"messageId":"m-%d","role":"ROLE_AGENT","parts":[{"data":{"grade":"standard","reason":"Income and value suffice."}}]}}}`

// abroad serves an agent of another organisation, whose card can be replaced by putting
// another one to /card, and writes the agreement with it into a folder.
func abroad(t *testing.T, agreements string) string {
	t.Helper()
	var (
		mu   sync.Mutex
		card = published
		said int
		site *httptest.Server
	)
	site = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case r.Method == http.MethodPut && r.URL.Path == "/card":
			body, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
			}
			card = string(body)
		case strings.HasSuffix(r.URL.Path, "agent-card.json"), r.URL.Path == "/card":
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, strings.ReplaceAll(card, "BASE", site.URL))
		case r.Method == http.MethodPost && r.URL.Path == "/a2a":
			var asked struct{ ID json.RawMessage }
			if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
				t.Error(err)
			}
			said++
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(w, answer, asked.ID, said)
		default:
			w.WriteHeader(http.StatusMethodNotAllowed)
		}
	}))
	t.Cleanup(site.Close)
	if err := os.MkdirAll(agreements, 0o700); err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf(`partner: underwriter
version: 1
owner: partnerships@bank.example
review_date: 2099-06-30
organisation: Underwriter plc
card: %s/.well-known/agent-card.json
networks: [127.0.0.0/8]
disclosure:
  rules:
    - {name: we are asked instead, classes: [email], action: tokenise}
    - {name: not the account, classes: [iban], action: mask}
skills:
  underwrite:
    response: {p50: 2s, p95: 10s}
    availability: 99.5
`, site.URL)
	if err := os.WriteFile(filepath.Join(agreements, "underwriter.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return site.URL
}
