// Command webhook receives the notifications of a Sabha platform, verifies each
// and prints it once.
package main

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// Receiver is one webhook. Its URL is the one that its tasks were told, to the letter.
type Receiver struct {
	URL, Keys string
	// Verified is called for each notification, once and in order for each task.
	Verified func(task, event string, body []byte)

	mu   sync.Mutex
	keys jose.JSONWebKeySet
	seen map[string]place
}

// place of an event: epochs grow when a platform was restored, versions with each event.
type place struct{ epoch, version int64 }

type claims struct {
	Audience string `json:"aud"`
	Expiry   int64  `json:"exp"`
	ID       string `json:"jti"`
	Task     string `json:"task"`
	Event    string `json:"event"`
	Digest   string `json:"sha256"`
}

// ServeHTTP answers 204 for what is verified, seen before or not, and 401 for the rest.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, q.Body, 16<<20))
	if err != nil {
		http.Error(w, "too large", http.StatusRequestEntityTooLarge)
		return
	}
	if err := r.accept(q.Header.Get("Sabha-Signature"), body); err != nil {
		log.Print("refused: ", err)
		http.Error(w, "not verified", http.StatusUnauthorized)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func (r *Receiver) accept(signature string, body []byte) error {
	jws, err := jose.ParseSignedCompact(signature, []jose.SignatureAlgorithm{jose.EdDSA})
	if err != nil {
		return err
	}
	key, err := r.key(jws.Signatures[0].Header.KeyID)
	if err != nil {
		return err
	}
	payload, err := jws.Verify(key)
	if err != nil {
		return err
	}
	var c claims
	if err := json.Unmarshal(payload, &c); err != nil {
		return err
	}
	sum := sha256.Sum256(body)
	switch {
	case c.Digest != base64.RawURLEncoding.EncodeToString(sum[:]):
		return errors.New("another body was signed")
	case c.Audience != r.URL:
		return fmt.Errorf("it is for %s", c.Audience)
	case time.Now().After(time.Unix(c.Expiry, 0).Add(30 * time.Second)):
		return errors.New("it is too old")
	}
	var at place
	if _, err := fmt.Sscanf(c.Event, "%d.%d", &at.epoch, &at.version); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seen == nil {
		r.seen = map[string]place{} // a database, if it has to outlive the process
	}
	last := r.seen[c.Task]
	if at.epoch < last.epoch || (at.epoch == last.epoch && at.version <= last.version) {
		return nil // sent again, or overtaken: what was seen says more
	}
	r.seen[c.Task] = at
	r.Verified(c.Task, c.Event, body)
	return nil
}

// key finds a platform's key, and fetches the keys again for an id that is new.
func (r *Receiver) key(id string) (*jose.JSONWebKey, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if found := r.keys.Key(id); len(found) > 0 {
		return &found[0], nil
	}
	resp, err := http.Get(r.Keys)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	var keys jose.JSONWebKeySet
	if err := json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(&keys); err != nil {
		return nil, err
	}
	r.keys = keys
	if found := r.keys.Key(id); len(found) > 0 {
		return &found[0], nil
	}
	return nil, fmt.Errorf("the platform has no key %q", id)
}

func main() {
	listen := flag.String("listen", "127.0.0.1:9000", "address to serve")
	url := flag.String("url", "http://127.0.0.1:9000/", "URL that tasks are told")
	keys := flag.String("keys", "http://127.0.0.1:8080/.well-known/jwks.json", "where the platform's keys are")
	flag.Parse()
	r := &Receiver{URL: *url, Keys: *keys, Verified: func(task, event string, body []byte) { fmt.Println(task, event, string(body)) }}
	log.Fatal((&http.Server{Addr: *listen, Handler: r, ReadHeaderTimeout: 10 * time.Second}).ListenAndServe())
}
