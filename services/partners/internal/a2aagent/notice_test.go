package a2aagent_test

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"sabha.dev/chassis/cardsig"
	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/push"
	partnersv1 "sabha.dev/gen/sabha/partners/v1"
	"sabha.dev/services/partners/internal/cardtrust"
	"sabha.dev/services/partners/internal/partner"
)

// notifier is a partner that works on a task until it is done, and was told a webhook.
type notifier struct {
	*rig
	*replica
	*scripted
	id            string
	done          atomic.Bool
	secret, token string
	own           ed25519.PrivateKey
}

// notifying starts a task at a partner that notifies.
func notifying(t *testing.T, r *rig, mode cardtrust.Mode) *notifier {
	t.Helper()
	n := &notifier{rig: r}
	var config atomic.Value
	n.scripted = &scripted{on: func(method string, params map[string]any) any {
		if method == "SendMessage" {
			c, _ := params["configuration"].(map[string]any)
			config.Store(c["taskPushNotificationConfig"])
			return map[string]any{"task": job("SUBMITTED", "")}
		}
		if n.done.Load() {
			return job("COMPLETED", "done")
		}
		return job("WORKING", "")
	}}
	var err error
	r.trusted, n.own, err = ed25519.GenerateKey(nil)
	r.must(err)
	r.signer = n.own
	r.hooks, r.push = "https://sabha.example"+push.ReceiverPath, mode
	r.agree("acme", "a2a push", serve(t, n.scripted), "{budget: 24h}")
	n.replica = r.start("p")
	n.id = n.begin(asks("m1", "acme/do", "work"))
	r.soon("the task rests until it is notified", n.rests)
	c, _ := config.Load().(map[string]any)
	url, _ := c["url"].(string)
	n.token, _ = c["token"].(string)
	ok := false
	if n.secret, ok = strings.CutPrefix(url, r.hooks); !ok || len(n.secret) < 32 || n.token == "" || strings.Contains(url, n.token) {
		t.Fatalf("the webhook is %q with the token %q", url, n.token)
	}
	return n
}

// Notified and NotifierKey are what is believed of notifications.
func (r *rig) Notified(*partner.Partner) cardtrust.Policy { return cardtrust.Policy{Push: r.push} }

func (r *rig) NotifierKey(_ context.Context, _ *partner.Partner, id, _ string) (cardsig.Key, error) {
	if id != "theirs" {
		return cardsig.Key{}, errors.New("no trusted key has this id")
	}
	return cardsig.Key{JSONWebKey: jose.JSONWebKey{Key: r.trusted, KeyID: id}}, nil
}

func (n *notifier) rests() bool {
	rec, err := n.store.Get(n.Context(), n.id)
	n.must(err)
	return rec.RunOwner == "" && rec.WakeAt.After(n.Now().Add(time.Minute))
}

func (n *notifier) asked() int { return len(n.seen()) }

// sign signs a body as Sabha does, with claims that a test may change.
func (n *notifier) sign(body, place string, change func(*push.Claims)) string {
	n.Helper()
	c := push.Claims{
		Issuer: "theirs", Audience: n.hooks + n.secret, IssuedAt: n.Now().Unix(), Expiry: n.Now().Add(5 * time.Minute).Unix(), ID: place, Task: "theirs", Event: place,
		Digest: push.Digest([]byte(body)),
	}
	if change != nil {
		change(&c)
	}
	payload, err := json.Marshal(c)
	n.must(err)
	s, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.EdDSA, Key: jose.JSONWebKey{Key: n.signer, KeyID: "theirs"}}, nil)
	n.must(err)
	jws, err := s.Sign(payload)
	n.must(err)
	text, err := jws.CompactSerialize()
	n.must(err)
	return text
}

// tell sends a notification and gives its effect, or the reason why it has none.
func (n *notifier) tell(body, signature string) string {
	n.Helper()
	return n.send(&partnersv1.TakeNotificationRequest{Secret: n.secret, Token: n.token, Signature: signature, Body: []byte(body)})
}

func (n *notifier) send(q *partnersv1.TakeNotificationRequest) string {
	n.Helper()
	res, err := n.heard.TakeNotification(n.Context(), q)
	if f := fault.As(err); f != nil {
		return string(f.Reason) + ": " + f.Message
	}
	n.must(err)
	return strings.ToLower(strings.TrimPrefix(res.GetEffect().String(), "EFFECT_"))
}

func encoded(t *testing.T, event any) string {
	t.Helper()
	body, err := json.Marshal(event)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// A partner that does not take our webhook is asked once more without.
func TestAPartnerThatRefusesTheWebhookIsAskedWithout(t *testing.T) {
	r := onSQLite(t)
	var webhooks []bool
	s := &scripted{on: func(_ string, params map[string]any) any {
		c, _ := params["configuration"].(map[string]any)
		_, with := c["taskPushNotificationConfig"]
		webhooks = append(webhooks, with)
		if with {
			return raw(func(w http.ResponseWriter, _ *http.Request, id any) {
				_ = json.NewEncoder(w).Encode(map[string]any{"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": -32602, "message": "not that URL"}})
			})
		}
		return message("done")
	}}
	r.hooks, r.push = "https://sabha.example"+push.ReceiverPath, cardtrust.IfPresent
	r.agree("acme", "a2a push", serve(t, s), lasting)
	p := r.start("p")
	equal(t, "the answer", said(p.send(asks("m1", "acme/do", "work")).GetTask()), "done")
	if len(webhooks) != 2 || !webhooks[0] || webhooks[1] {
		t.Errorf("requests with webhooks: %v", webhooks)
	}
}

func TestANotificationWithoutASignatureIsAHint(t *testing.T) {
	onBothEngines(t, func(t *testing.T, r *rig) {
		n := notifying(t, r, cardtrust.IfPresent)
		lie := encoded(t, update("COMPLETED", "a lie"))
		before := n.asked()
		equal(t, "the effect", n.tell(lie, ""), "hint")
		r.soon("the partner was asked", func() bool { return n.asked() > before })
		r.soon("the task rests again", n.rests)
		n.done.Store(true)
		equal(t, "the effect of one of A2A 0.3", n.tell(`{"kind":"task","id":"theirs","status":{"state":"completed"}}`, ""), "hint")
		equal(t, "the end", said(n.comes(n.id, completed)), "done")
		equal(t, "one after the end", n.tell(lie, ""), "TASK_NOT_FOUND: nothing is waited for here, or not with this token")
	})
}

func TestAVerifiedNotificationIsTheState(t *testing.T) {
	onBothEngines(t, func(t *testing.T, r *rig) {
		n := notifying(t, r, cardtrust.Required)
		signed := func(event any, place string) string {
			body := encoded(t, event)
			return n.tell(body, n.sign(body, place, nil))
		}
		equal(t, "a task", signed(map[string]any{"task": job("WORKING", "half way", "a", "one ")}, "1.3"), "verified")
		r.soon("its progress is told", func() bool { return said(n.task(n.id)) == "half way" })
		equal(t, "a chunk", signed(chunk("a", "two", true, true), "1.4"), "verified")
		equal(t, "the same again", signed(chunk("a", "two", true, true), "1.4"), "known")
		equal(t, "an older one", signed(update("INPUT_REQUIRED", "which?"), "1.2"), "known")
		r.soon("the chunk is there", func() bool { return artifacts(n.task(n.id)) == "a=one \ntwo" })
		r.soon("the task rests again", n.rests)
		before := n.asked()
		equal(t, "the end", signed(update("COMPLETED", "signed"), "1.5"), "verified")
		got := n.comes(n.id, completed)
		equal(t, "what it says", said(got), "signed")
		equal(t, "the artifact", artifacts(got), "a=one \ntwo")
		if n.asked() != before {
			t.Errorf("the partner was asked: %v", n.seen())
		}
	})
}

// An update that does not follow what is known says that something is missing.
func TestAVerifiedUpdateWithAGapHasThePartnerAsked(t *testing.T) {
	r := onSQLite(t)
	n := notifying(t, r, cardtrust.IfPresent)
	n.done.Store(true)
	body := encoded(t, update("COMPLETED", "without its artifacts"))
	equal(t, "the effect", n.tell(body, n.sign(body, "1.9", nil)), "verified")
	equal(t, "what it says", said(n.comes(n.id, completed)), "done")
}

func TestANotificationThatIsNotBelievedDoesNothing(t *testing.T) {
	onBothEngines(t, func(t *testing.T, r *rig) {
		n := notifying(t, r, cardtrust.Required)
		body := encoded(t, map[string]any{"task": job("COMPLETED", "a lie")})
		good := n.sign(body, "1.4", nil)
		signed := func(change func(*push.Claims)) string { return n.tell(body, n.sign(body, "1.4", change)) }
		nothing := "TASK_NOT_FOUND: nothing is waited for here, or not with this token"
		not := "PERMISSION_DENIED: the signature of the notification is not believed: "
		_, other, err := ed25519.GenerateKey(nil)
		r.must(err)
		before := n.asked()
		for what, c := range map[string][2]string{
			"no secret":               {n.send(&partnersv1.TakeNotificationRequest{Token: n.token, Signature: good, Body: []byte(body)}), nothing},
			"a wrong secret":          {n.send(&partnersv1.TakeNotificationRequest{Secret: strings.Repeat("x", 52), Token: n.token, Signature: good, Body: []byte(body)}), nothing},
			"no token":                {n.send(&partnersv1.TakeNotificationRequest{Secret: n.secret, Signature: good, Body: []byte(body)}), nothing},
			"a wrong token":           {n.send(&partnersv1.TakeNotificationRequest{Secret: n.secret, Token: n.token + "x", Signature: good, Body: []byte(body)}), nothing},
			"no signature":            {n.tell(body, ""), "PERMISSION_DENIED: the notification has no Sabha-Signature, and the agreement asks for one"},
			"no JWS":                  {n.tell(body, "x.y"), not + "it is no compact JWS of an algorithm that is allowed"},
			"another body":            {n.tell(encoded(t, update("COMPLETED", "another lie")), good), not + "another body was signed"},
			"another URL":             {signed(func(c *push.Claims) { c.Audience += "x" }), not + "it is for another receiver"},
			"too old":                 {signed(func(c *push.Claims) { c.Expiry = n.Now().Add(-time.Minute).Unix() }), not + "it is too old"},
			"of the future":           {signed(func(c *push.Claims) { c.IssuedAt = n.Now().Add(time.Hour).Unix() }), not + "it is of a time that is yet to come"},
			"signed for another task": {signed(func(c *push.Claims) { c.Task = "another" }), "INVALID_ARGUMENT: body: is signed for another task than the one that is waited for"},
			"another task":            {n.tell(strings.ReplaceAll(body, `"theirs"`, `"another"`), good), "INVALID_ARGUMENT: body: is about another task or context than the one that is waited for"},
			"another context":         {n.tell(strings.ReplaceAll(body, "their-context", "another"), good), "INVALID_ARGUMENT: body: is about another task or context than the one that is waited for"},
			"no JSON":                 {n.tell("hello", good), "INVALID_ARGUMENT: body: is not the JSON object of a notification; send a StreamResponse of A2A"},
		} {
			equal(t, what, c[0], c[1])
		}
		n.signer = other
		forged := n.sign(body, "1.4", nil)
		n.signer = n.own
		equal(t, "another's key", n.tell(body, forged), not+"it is not of the key that it names")
		if n.asked() != before || !n.rests() {
			t.Errorf("the partner was asked, or the task woken: %v", n.seen())
		}
		equal(t, "what was meant", n.tell(body, good), "verified")
		n.comes(n.id, completed)
	})
}
