package gateway

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"sabha.dev/chassis/binding"
	"sabha.dev/chassis/cardsig"
	"sabha.dev/chassis/identity"
	"sabha.dev/chassis/push"
	"sabha.dev/chassis/service"
	"sabha.dev/services/gateway/internal/cards"
	"sabha.dev/services/gateway/internal/edge"
	"sabha.dev/services/gateway/internal/kap"
	"sabha.dev/services/gateway/internal/legacy"
	"sabha.dev/services/gateway/internal/mcptools"
	"sabha.dev/services/gateway/internal/notices"
)

// Bounds of an HTTP connection.
const (
	headerWithin = 10 * time.Second
	bodyWithin   = 30 * time.Second
	idleWithin   = 2 * time.Minute
	maxHeader    = 64 << 10
)

// serveHTTP serves the HTTP bindings on the public port, and health and metrics
// on the operators' port if there is one.
func (r *Running) serveHTTP(c Config, guard *edge.Guard, source *cards.Source, public net.Listener) error {
	served := binding.Config{Cards: source.Card, Clock: r.base.Clock, Log: r.base.Log, MaxBody: edge.MaxRequest}
	if !c.CurrentOnly {
		served.Older = legacy.Dialect()
	}
	signer, err := cardsig.NewSigner(r.base.Key, identity.KeyID(r.base.Key.Public().(ed25519.PublicKey)), r.address.HTTP+push.KeysPath)
	if err != nil {
		return err
	}
	served.SignCard = signer.Sign
	a2a, err := binding.New(r.innerConn, served)
	if err != nil {
		return err
	}
	ready := func(ctx context.Context) error { return service.Ready(ctx, r.health, r.db) }
	operators := service.Handler(r.base, ready, nil)
	keys, err := publishedKeys(r.base.Keys)
	if err != nil {
		return err
	}
	paths := map[string]http.Handler{
		push.KeysPath: read(keys),
		"/healthz":    read(operators),
		"/readyz":     read(service.Probe(ready)),
		"/metrics":    read(guard.Handler(operators, identity.Operator, identity.Auditor, identity.Admin)),
	}
	if c.KAP.Enabled {
		agents, err := r.openKAP(c.KAP, guard)
		if err != nil {
			return err
		}
		paths[kap.CardPath], paths[kap.AskPath] = read(http.HandlerFunc(agents.Card)), http.HandlerFunc(agents.Ask)
	}
	reached, err := url.Parse(r.address.HTTP)
	if err != nil {
		return err
	}
	tools := mcptools.New(mcptools.Parts{
		Host:   reached.Hostname(),
		Agents: r.proxy, Cards: source, Front: front, Tenants: c.tenants(), Release: r.base.Release, Clock: r.base.Clock, Log: r.base.Log,
	})
	paths[mcptools.Path] = guard.Handler(tools.Handler())
	if r.publicTLS != nil {
		public = r.publicTLS.Web(public, r.authorities())
	}
	own := handler{paths: paths, a2a: a2a, guard: guard, challenges: []string{`Basic realm="a2a", charset="UTF-8"`, `ApiKey realm="a2a", header="X-API-Key"`}}
	if r.clients != nil {
		own.challenges = append(own.challenges, `ClientCertificate realm="a2a"`)
	}
	if slices.Contains(c.services(), registry) {
		conn, err := r.base.Peer(registry)
		if err != nil {
			return err
		}
		// It is under a path of people's, so it comes first.
		own.under = append(own.under, under{notices.Path, &notices.Handler{Guard: guard, Partners: conn, MaxBody: edge.MaxRequest, Log: r.base.Log}})
	}
	for _, s := range r.people {
		h, err := s.Handler(r.innerConn, edge.MaxRequest)
		if err != nil {
			return err
		}
		own.under = append(own.under, under{s.Path, h})
	}
	r.serveWeb(public, own)
	if c.HTTP == "" {
		return nil
	}
	private, err := r.listen("http", c.HTTP)
	if err != nil {
		return err
	}
	r.serveWeb(private, operators)
	return nil
}

// openKAP makes the server for agents that speak KAP.
func (r *Running) openKAP(c KAP, guard *edge.Guard) (*kap.Server, error) {
	c.Agent.Version = r.base.Release
	return kap.New(c, kap.Parts{
		Agents: r.proxy,
		Identify: func(req *http.Request) (identity.Call, string, error) {
			call, err := guard.Identify(req)
			return call, edge.ClientName(req.RemoteAddr), err
		},
		Usage: kap.NewUsage(r.db, r.base.Clock, kap.RateOf(c)),
		Clock: r.base.Clock, Log: r.base.Log, Metrics: r.base.Metrics(), URL: r.address.HTTP, Issuers: r.address.Issuers, MaxBody: edge.MaxRequest,
	})
}

func (r *Running) serveWeb(l net.Listener, h http.Handler) {
	s := &http.Server{Handler: h, ReadHeaderTimeout: headerWithin, IdleTimeout: idleWithin, MaxHeaderBytes: maxHeader, ErrorLog: slog.NewLogLogger(r.base.Log.Handler(), slog.LevelInfo)}
	r.web = append(r.web, s)
	go func() {
		if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			r.failed <- err
		}
	}()
}

// publishedKeys serves the keys of all services to everybody: receivers of
// notifications verify with them.
func publishedKeys(keys identity.Keyring) (http.Handler, error) {
	body, err := json.Marshal(keys.JWKS())
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(body)
	tag := `"` + hex.EncodeToString(sum[:8]) + `"`
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Type", "application/jwk-set+json")
		h.Set("Cache-Control", "public, max-age=300")
		h.Set("ETag", tag)
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
	}), nil
}

// read is a handler of what can only be read.
func read(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			binding.RefuseMethod(w, r, http.MethodGet, http.MethodHead)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// handler serves a few fixed paths; all others are A2A's. It is no ServeMux,
// which redirects paths that A2A answers itself.
type handler struct {
	paths map[string]http.Handler
	a2a   http.Handler
	// under are served what begins with their paths, the first that fits.
	under []under
	guard *edge.Guard
	// challenges of a 401 beside the one for bearer tokens, which the bindings make. The
	// last two are of no registered scheme: they tell people which kinds there are.
	challenges []string
}

// under is a handler of all paths that begin with one.
type under struct {
	path    string
	handler http.Handler
}

func (h handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/healthz" || r.URL.Path == "/metrics" { // how it is watched is not what it does
		keepCredentials(r.Header)
		h.paths[r.URL.Path].ServeHTTP(w, r)
		return
	}
	r, q := h.guard.Begin(r)
	answer := &answer{ResponseWriter: w, status: http.StatusOK, challenges: h.challenges}
	w = answer
	defer func() { q.End(answer.status) }()
	keepCredentials(r.Header)
	if r.ContentLength != 0 {
		// A body has its time; a stream of events that may follow has as much as it needs.
		rc := http.NewResponseController(w)
		_ = rc.SetReadDeadline(time.Now().Add(bodyWithin))
		r.Body = &timedBody{r.Body, rc}
	}
	if own, ok := h.paths[r.URL.Path]; ok {
		own.ServeHTTP(w, r)
		return
	}
	for _, own := range h.under {
		if strings.HasPrefix(r.URL.Path, own.path) {
			own.handler.ServeHTTP(w, r)
			return
		}
	}
	h.a2a.ServeHTTP(w, r)
}

// answer remembers the status that a client was given.
type answer struct {
	http.ResponseWriter
	status     int
	begun      bool
	challenges []string
}

func (a *answer) WriteHeader(status int) {
	if !a.begun {
		a.status, a.begun = status, true
		if status == http.StatusUnauthorized {
			for _, c := range a.challenges {
				a.Header().Add("WWW-Authenticate", c)
			}
		}
	}
	a.ResponseWriter.WriteHeader(status)
}

// Unwrap lets http.ResponseController reach the server's writer.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// Flush sends what was written.
func (a *answer) Flush() { _ = http.NewResponseController(a.ResponseWriter).Flush() }

// keepCredentials makes credentials that are given twice, or given and empty,
// arrive as what they are: the bindings pass on the first that is not empty, and
// a caller who meant to be known would be taken for another or for nobody.
func keepCredentials(h http.Header) {
	for _, name := range []string{"X-API-Key", "Authorization"} {
		values := h.Values(name)
		if len(values) == 0 || (len(values) == 1 && values[0] != "") {
			continue
		}
		// Several lines mean the same as one with commas (RFC 9110 section 5.3), which is no key.
		h.Set(name, strings.Join(values, ",")+",")
	}
}

// timedBody lifts the deadline once the body has been read.
type timedBody struct {
	io.ReadCloser
	rc *http.ResponseController
}

func (b *timedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		_ = b.rc.SetReadDeadline(time.Time{})
	}
	return n, err
}
