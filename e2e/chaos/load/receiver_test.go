package load

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/go-jose/go-jose/v4"
	"google.golang.org/protobuf/encoding/protojson"
)

func TestTheReceiverTakesWhatComesInOrder(t *testing.T) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.EdDSA, Key: jose.JSONWebKey{Key: private, KeyID: "k1"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Listen(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: public, KeyID: "k1"}}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	post := func(ev *a2apb.StreamResponse, token, url string) int {
		t.Helper()
		body, err := protojson.Marshal(ev)
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(body)
		jws, err := signer.Sign([]byte(`{"aud":"` + url + `","sha256":"` + base64.RawURLEncoding.EncodeToString(sum[:]) + `"}`))
		if err != nil {
			t.Fatal(err)
		}
		signature, err := jws.CompactSerialize()
		if err != nil {
			t.Fatal(err)
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.config(1).GetUrl(), strings.NewReader(string(body)))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+r.config(1).GetAuthentication().GetCredentials())
		req.Header.Set("X-A2A-Notification-Token", token)
		req.Header.Set("Sabha-Signature", signature)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		return res.StatusCode
	}
	good, here := r.config(1).GetToken(), r.config(1).GetUrl()
	for _, ev := range []*a2apb.StreamResponse{snapshot(t, "1.1", false), update(t, "1.3", completed), update(t, "1.3", completed)} {
		if code := post(ev, good, here); code != http.StatusOK {
			t.Errorf("answered %d", code)
		}
	}
	plans := []*Plan{{N: 1, Read: completed}}
	if a := r.account(plans); a.Deliveries != 3 || a.Missing != 0 || len(a.Wrong) != 0 {
		t.Errorf("%+v", a)
	}
	post(update(t, "1.2", a2apb.TaskState_TASK_STATE_WORKING), good, here)
	post(update(t, "1.3", completed), "another", here)
	post(update(t, "1.3", completed), good, "http://elsewhere")
	if a := r.account(plans); a.Late != 1 || a.Missing != 0 || len(a.Wrong) != 2 || !strings.Contains(a.Wrong[0], "credentials or token") || !strings.Contains(a.Wrong[1], "another body or receiver") {
		t.Errorf("%+v", a)
	}
}
