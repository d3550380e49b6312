package interop

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"sabha.dev/chassis/cardsig"
	"sabha.dev/chassis/clock"
)

// job and outcomes are what js/signatures.mjs reads and prints.
type job struct {
	JWKS    json.RawMessage `json:"jwks"`
	Verify  []string        `json:"verify"`
	Private json.RawMessage `json:"private"`
	Sign    []string        `json:"sign"`
}

type outcomes struct {
	Verified []bool
	Signed   []string
}

func (j job) run(t *testing.T, node string) (out outcomes) {
	t.Helper()
	raw, err := json.Marshal(j)
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), node, "js/signatures.mjs")
	var said bytes.Buffer
	c.Stdin, c.Stderr = bytes.NewReader(raw), &said
	printed, err := c.Output()
	if err == nil {
		err = json.Unmarshal(printed, &out)
	}
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, printed, &said)
	}
	return out
}

func download(t *testing.T, url string) []byte {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v", url, res.Status, err)
	}
	return body
}

// The cards of the platform are verified by the JavaScript SDK and by our own verifier.
func TestJavaScriptSDKVerifiesOurCards(t *testing.T) {
	node := javaScript(t, "sdk")
	p := start(t)
	j := job{JWKS: download(t, p.url+"/.well-known/jwks.json")}
	for _, tenant := range []string{"", "/research", "/memory"} {
		card := string(download(t, p.url+tenant+"/.well-known/agent-card.json"))
		j.Verify = append(j.Verify, card, strings.Replace(card, `"description":"`, `"description":"Not `, 1))
	}
	if got, want := j.run(t, node).Verified, []bool{true, false, true, false, true, false}; !slices.Equal(got, want) {
		t.Errorf("verified %v, want %v", got, want)
	}
	keys, err := cardsig.ParseKeys(j.JWKS)
	if err != nil {
		t.Fatal(err)
	}
	v := &cardsig.Verifier{Keys: keys.Find, Clock: clock.System{}}
	for i, card := range j.Verify {
		if _, err := v.Verify(t.Context(), []byte(card)); (err == nil) != (i%2 == 0) {
			t.Errorf("card %d: %v", i, err)
		}
	}
}

// The published vectors: what the SDK verifies of them, and that we verify what it signs
// if it signs the whole card.
func TestJavaScriptSDKAndTheVectors(t *testing.T) {
	node := javaScript(t, "sdk")
	raw, err := os.ReadFile("../../docs/card-signatures.json")
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Private, JWKS json.RawMessage
		Cases         []struct {
			Name, Card string
			SDK        bool
		}
	}
	if err := json.Unmarshal(raw, &doc); err != nil || len(doc.Cases) == 0 {
		t.Fatal(err, len(doc.Cases))
	}
	j := job{JWKS: doc.JWKS, Private: doc.Private}
	for _, c := range doc.Cases {
		j.Verify = append(j.Verify, c.Card)
	}
	for _, c := range doc.Cases[:3] {
		card, _, _ := strings.Cut(c.Card, `,"signatures":`)
		j.Sign = append(j.Sign, card+"}")
	}
	out := j.run(t, node)
	for i, c := range doc.Cases {
		if out.Verified[i] != c.SDK {
			t.Errorf("%s: the SDK says %v, want %v", c.Name, out.Verified[i], c.SDK)
		}
	}
	keys, err := cardsig.ParseKeys(doc.JWKS)
	if err != nil {
		t.Fatal(err)
	}
	v := &cardsig.Verifier{Keys: keys.Find, Clock: clock.System{}}
	if _, err := v.Verify(t.Context(), []byte(out.Signed[0])); err != nil {
		t.Errorf("a card that the SDK signed: %v", err)
	}
	for i, what := range map[int]string{1: "empty members", 2: "an unknown member"} {
		// It leaves them out of what it signs and not out of the card.
		if _, err := v.Verify(t.Context(), []byte(out.Signed[i])); err == nil || !strings.Contains(err.Error(), cardsig.ErrReduced.Error()) {
			t.Errorf("a card with %s that the SDK signed: %v", what, err)
		}
	}
}
