package card_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"sabha.dev/chassis/fault"
	"sabha.dev/services/partners/internal/card"
	"sabha.dev/services/partners/internal/partner"
)

const current = `{"name":"Underwriter","description":"Decides.","version":"1.2","provider":{"organization":"Underwriter plc","url":"https://underwriter.example"},
"supportedInterfaces":[{"url":"https://agents.underwriter.example/a2a","protocolBinding":"JSONRPC","protocolVersion":"1.0"},
{"url":"grpc.underwriter.example:443","protocolBinding":"GRPC","protocolVersion":"1.0"}],
"capabilities":{},"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],
"skills":[{"id":"underwrite","name":"Underwrite","description":"Says yes or no.","tags":["loans"]}]}`

const old = `{"protocolVersion":"0.3.0","name":"Old","description":"d","version":"1","url":"https://old.example/","preferredTransport":"HTTP+JSON",
"additionalInterfaces":[{"url":"https://old.example/rpc","transport":"JSONRPC"}],"capabilities":{},"skills":[{"id":"a","name":"A","description":"d","tags":["x","y"]}]}`

const kap = `{"protocol":"kap/1.0","agent":{"id":"acme-support","name":"Acme Support","description":"Support","organization":"Acme Inc","version":"1.0.0","tags":["faq"]},
"endpoint":"https://support.acme.example/v1/ask","auth":[{"type":"api-key","in":"header","name":"X-API-Key"}],
"capabilities":[{"id":"ask","name":"Ask"},{"id":"delete","name":"Delete","inputSchema":{"type":"object"},"requiresConfirmation":true}],"rateLimit":{"requestsPerMinute":30}}`

func parse(t *testing.T, raw string) *card.Card {
	t.Helper()
	c, err := card.Parse([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestEachFormOfCardIsRead(t *testing.T) {
	a := parse(t, current)
	if a.Protocol != partner.A2A1 || a.Name != "Underwriter" || a.Organisation != "Underwriter plc" || len(a.Interfaces) != 2 || a.Skills[0].ID != "underwrite" ||
		a.Tags[0] != "loans" || len(a.Digest) != 64 || a.Signed {
		t.Errorf("A2A 1.0: %+v", a)
	}
	b := parse(t, old)
	if b.Protocol != partner.A2A0 || len(b.Interfaces) != 2 || b.Interfaces[0].Binding != "HTTP+JSON" || len(b.Tags) != 2 {
		t.Errorf("A2A 0.3: %+v", b)
	}
	c := parse(t, kap)
	if c.Protocol != partner.KAP1 || c.Organisation != "Acme Inc" || c.Interfaces[0].URL != "https://support.acme.example/v1/ask" || !c.Skills[1].Confirm ||
		c.Skills[0].Confirm || string(c.Skills[1].Input) != `{"type":"object"}` || c.Tags[0] != "faq" {
		t.Errorf("KAP: %+v", c)
	}
	// A card for clients of both versions is read as the newer.
	if both := parse(t, strings.Replace(current, `"name":"Under`, `"protocolVersion":"0.3.0","url":"https://agents.underwriter.example/old","name":"Under`, 1)); both.Protocol != partner.A2A1 {
		t.Errorf("a card of both versions is taken for %s", both.Protocol)
	}
}

func TestCardsThatCannotBeTakenAreRefusedWithTheReason(t *testing.T) {
	without := func(raw, part string) string { return strings.Replace(raw, part, "", 1) }
	for what, c := range map[string]struct{ raw, want string }{
		"oversized":        {`{"name":"` + strings.Repeat("x", card.MaxSize) + `"}`, "more than 262144 bytes"},
		"no JSON":          {"<!doctype html>", "not JSON"},
		"cut off":          {current[:200], "not JSON"},
		"a list":           {"[]", "not a JSON object"},
		"twice a member":   {strings.Replace(current, `"version"`, `"name":"Stripe","version"`, 1), "name"},
		"twice but case":   {strings.Replace(current, `"version"`, `"Name":"Stripe","version"`, 1), "but for the case of letters"},
		"NUL":              {strings.Replace(current, "Decides", `De\u0000cides`, 1), "U+0000"},
		"half a surrogate": {strings.Replace(current, "Decides", `\ud800`, 1), "surrogate"},
		"none of three":    {`{"name":"x","skills":[]}`, "none of A2A 1.0"},
		"A2A 0.2":          {strings.Replace(old, "0.3.0", "0.2.6", 1), `of A2A "0.2.6", which is not spoken here`},
		"A2A without":      {without(old, `"protocolVersion":"0.3.0",`), "which is not spoken here"},
		"KAP 2":            {strings.Replace(kap, "kap/1.0", "kap/2.0", 1), "kap/1.0 is the one"},
		"future A2A":       {strings.ReplaceAll(current, `"protocolVersion":"1.0"`, `"protocolVersion":"2.0"`), "none of its interfaces is of A2A 1.0"},
		"no name":          {without(current, `"name":"Underwriter",`), "gives no name"},
		"no skills":        {without(current, `{"id":"underwrite","name":"Underwrite","description":"Says yes or no.","tags":["loans"]}`), "lists no skills"},
		"no capabilities":  {strings.Replace(kap, `"capabilities":[`, `"other":[`, 1), "lists no capabilities"},
		"twice a skill":    {strings.Replace(kap, `"id":"delete"`, `"id":"ask"`, 1), `two skills have the id "ask"`},
		"a skill with gap": {strings.Replace(kap, `"id":"delete"`, `"id":"de lete"`, 1), `a skill has the id "de lete"`},
		"wrong type":       {strings.Replace(current, `"Decides."`, "7", 1), "/description is not text"},
		"wrong list":       {strings.Replace(current, `["loans"]`, `[7]`, 1), "/skills/tags is not a list of texts"},
		"long name":        {strings.Replace(current, `"name":"Underwriter"`, `"name":"`+strings.Repeat("x", 300)+`"`, 1), "name has more than 200 bytes"},
	} {
		_, err := card.Parse([]byte(c.raw))
		if !fault.Is(err, fault.CardRefused) || !strings.Contains(fmt.Sprint(err), c.want) {
			t.Errorf("%s: %v, want %q", what, err, c.want)
		}
	}
}

func TestACardSpeaksForTheSiteThatItComesFrom(t *testing.T) {
	at := func(url string) string {
		return strings.Replace(current, "https://agents.underwriter.example/a2a", url, 1)
	}
	moved := strings.Replace(at("https://evil.example/a2a"), "grpc.underwriter", "grpc.evil", 1)
	home := card.Origin{URL: "https://www.underwriter.example/.well-known/agent-card.json"}
	for what, c := range map[string]struct {
		raw    string
		origin card.Origin
		want   string
	}{
		"the same site":       {current, home, ""},
		"another port":        {at("https://www.underwriter.example:8443/a2a"), home, ""},
		"an interface else":   {at("https://evil.example/a2a"), home, "is on another site; if that is right, name the host evil.example"},
		"that is allowed":     {at("https://api.partner.example/a2a"), card.Origin{URL: home.URL, Hosts: []string{"api.partner.example"}}, ""},
		"relative":            {at("/a2a"), home, "is relative"},
		"without scheme":      {at("agents.underwriter.example/a2a"), home, "is relative"},
		"no URL":              {at(""), home, "an interface has no URL"},
		"a file":              {at("file:///etc/passwd"), home, "is relative"},
		"another scheme":      {at("ftp://www.underwriter.example/x"), home, "neither with https:// nor with http://"},
		"credentials":         {at("https://u:p@www.underwriter.example/x"), home, "holds credentials"},
		"unencrypted":         {at("http://www.underwriter.example/a2a"), home, "is not encrypted"},
		"spoofed":             {current, card.Origin{URL: "https://evil.example/agent.json"}, "is on another site"},
		"somebody's provider": {moved, card.Origin{URL: "https://evil.example/agent.json"}, "claims to be of Underwriter plc (underwriter.example)"},
		"that is vouched for": {moved, card.Origin{URL: "https://evil.example/agent.json", Vouched: true}, ""},
	} {
		err := parse(t, c.raw).CheckOrigin(c.origin)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", what, err, c.want)
		}
	}
	for pair, want := range map[[2]string]bool{
		{"a.example", "A.EXAMPLE."}: true, {"x.a.co.uk", "y.a.co.uk"}: true, {"a.co.uk", "b.co.uk"}: false, {"10.0.0.1", "10.0.0.1"}: true, {"10.0.0.1", "10.0.0.2"}: false,
		{"localhost", "localhost"}: true, {"localhost", "underwriter"}: false, {"", ""}: false,
	} {
		if card.SameSite(pair[0], pair[1]) != want {
			t.Errorf("%v: want %v", pair, want)
		}
	}
}

func TestOnlyTextsMayChangeByThemselves(t *testing.T) {
	for what, c := range map[string]struct {
		before, after string
		want          string // path kind structural, separated by commas
	}{
		"nothing":          {current, strings.ReplaceAll(current, "\n", " "), ""},
		"a description":    {current, strings.Replace(current, "Says yes or no.", "Judges.", 1), "/skills/underwrite/description changed false"},
		"version and icon": {current, strings.Replace(current, `"version":"1.2"`, `"version":"1.3","iconUrl":"https://x"`, 1), "/iconUrl added false, /version changed false"},
		"an interface":     {current, strings.Replace(current, "example/a2a", "example/v2", 1), "/supportedInterfaces/0/url changed true"},
		"one interface less": {current, strings.Replace(current, `,
{"url":"grpc.underwriter.example:443","protocolBinding":"GRPC","protocolVersion":"1.0"}`, "", 1), "/supportedInterfaces/1 removed true"},
		"the name":            {current, strings.Replace(current, `"name":"Underwriter"`, `"name":"Stripe"`, 1), "/name changed true"},
		"the organisation":    {current, strings.Replace(current, "Underwriter plc", "Stripe", 1), "/provider/organization changed true"},
		"a skill's id":        {current, strings.Replace(current, `"id":"underwrite"`, `"id":"decide"`, 1), "/skills/decide added true, /skills/underwrite removed true"},
		"a capability":        {current, strings.Replace(current, `"capabilities":{}`, `"capabilities":{"streaming":true}`, 1), "/capabilities/streaming added true"},
		"something unknown":   {current, strings.Replace(current, `"version"`, `"x~y/z":1,"version"`, 1), "/x~0y~1z added true"},
		"a schema":            {kap, strings.Replace(kap, `{"type":"object"}`, `{"type":"array"}`, 1), "/capabilities/delete/inputSchema/type changed true"},
		"a confirmation":      {kap, strings.Replace(kap, `,"requiresConfirmation":true`, "", 1), "/capabilities/delete/requiresConfirmation removed true"},
		"the endpoint":        {kap, strings.Replace(kap, "/v1/ask", "/v2/ask", 1), "/endpoint changed true"},
		"the way in":          {kap, strings.Replace(kap, "api-key", "none", 1), "/auth/0/type changed true"},
		"limits and tags":     {kap, strings.Replace(strings.Replace(kap, ":30", ":60", 1), `"faq"`, `"help"`, 1), "/agent/tags/0 changed false, /rateLimit/requestsPerMinute changed false"},
		"the order of skills": {kap, strings.Replace(kap, `{"id":"ask","name":"Ask"},`, "", 1)[:len(kap)-len(`,"rateLimit":{"requestsPerMinute":30}}`)-len(`{"id":"ask","name":"Ask"},`)-1] + `,{"id":"ask","name":"Ask"}],"rateLimit":{"requestsPerMinute":30}}`, ""},
		// {"alg":"ES256","kid":"k1"} and {"alg":"ES256","kid":"k2"}
		"another signature": {signed("eyJhbGciOiJFUzI1NiIsImtpZCI6ImsxIn0", "AA"), signed("eyJhbGciOiJFUzI1NiIsImtpZCI6ImsxIn0", "BB"), ""},
		"another key":       {signed("eyJhbGciOiJFUzI1NiIsImtpZCI6ImsxIn0", "AA"), signed("eyJhbGciOiJFUzI1NiIsImtpZCI6ImsyIn0", "AA"), "/signatures/0 changed true"},
		"no signature":      {signed("eyJhbGciOiJFUzI1NiIsImtpZCI6ImsxIn0", "AA"), current, "/signatures removed true"},
	} {
		if !json.Valid([]byte(c.after)) {
			t.Errorf("%s: the test's card is no JSON: %s", what, c.after)
			continue
		}
		all, err := card.Diff([]byte(c.before), []byte(c.after))
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
		var got []string
		for _, d := range all {
			got = append(got, fmt.Sprintf("%s %s %v", d.Path, d.Kind, d.Structural))
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("%s: %q, want %q", what, strings.Join(got, ", "), c.want)
		}
		if card.Structural(all) != strings.Contains(c.want, "true") {
			t.Errorf("%s: structural is %v", what, card.Structural(all))
		}
	}
}

func signed(protected, signature string) string {
	return current[:len(current)-1] + `,"signatures":[{"protected":"` + protected + `","signature":"` + signature + `"}]}`
}

// Whatever bytes come: a card that is taken has what is relied on.
func FuzzParse(f *testing.F) {
	for _, s := range []string{current, old, kap, "{}", `{"protocol":7}`, `{"supportedInterfaces":[7]}`, `{"url":{}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		c, err := card.Parse(raw)
		if err != nil {
			if !fault.Is(err, fault.CardRefused) {
				t.Fatalf("%v is no refusal", err)
			}
			return
		}
		if c.Name == "" || len(c.Skills) == 0 || c.Protocol == "" || len(c.Interfaces) == 0 || len(c.Digest) != 64 {
			t.Fatalf("taken: %+v", c)
		}
		if d, err := card.Diff(raw, raw); err != nil || len(d) != 0 {
			t.Fatalf("it differs from itself: %v, %v", d, err)
		}
		_ = c.CheckOrigin(card.Origin{URL: "https://a.example/x"})
	})
}
