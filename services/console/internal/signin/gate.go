// Package signin lets people into the console: it signs them in and out, knows them
// by their sessions, and refuses what no page of theirs has sent.
package signin

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"

	"sabha.dev/chassis/clock"
	"sabha.dev/chassis/identity"
	"sabha.dev/services/console/internal/account"
	"sabha.dev/services/console/internal/oidc"
	"sabha.dev/services/console/internal/page"
	"sabha.dev/services/console/internal/person"
	"sabha.dev/services/console/internal/session"
)

// Granter signs that a person asked.
type Granter interface {
	Grant(p identity.Principal) (string, error)
}

// Config of a gate.
type Config struct {
	People   *account.Directory
	Sessions *session.Keeper
	Guesses  Counter
	Granter  Granter
	// Provider signs people in beside the local accounts; nil when there is none.
	Provider *oidc.Provider
	// Secure says that browsers reach the console over TLS.
	Secure bool
	Clock  clock.Clock
	Log    *slog.Logger
}

// Pages are how the gate's pages come to look like those behind it.
type Pages interface {
	// Show answers with a page.
	Show(w http.ResponseWriter, r *http.Request, v page.View)
	// Done answers a form: what was done, and where to go on.
	Done(w http.ResponseWriter, r *http.Request, text, next string)
}

// Gate stands before the pages.
type Gate struct {
	Config
	pages   Pages
	guesses *guesses

	mu     sync.Mutex
	grants map[string]string // by principal and scopes
}

// New makes a gate.
func New(c Config) *Gate {
	return &Gate{Config: c, guesses: &guesses{counter: c.Guesses, clock: c.Clock}, grants: map[string]string{}}
}

// maxBody bounds what a form may bring, its files included, bytes.
const maxBody = 16 << 20

// Handler lets those who have signed in through to next, and serves what belongs to
// signing in and to accounts. Static files need nobody.
func (g *Gate) Handler(next http.Handler, pages Pages) http.Handler {
	g.pages = pages
	inside := http.NewServeMux()
	inside.HandleFunc("GET /account", g.own)
	inside.HandleFunc("POST /account/password", g.changePassword)
	inside.HandleFunc("POST /account/sign-out-everywhere", g.signOutEverywhere)
	inside.HandleFunc("GET /accounts", g.admins(g.accounts))
	inside.HandleFunc("POST /accounts", g.admins(g.addAccount))
	inside.HandleFunc("POST /accounts/change", g.admins(g.changeAccount))
	inside.HandleFunc("POST /accounts/password", g.admins(g.resetPassword))
	inside.HandleFunc("POST /sign-out", g.signOut)
	inside.Handle("/", next)

	mux := http.NewServeMux()
	mux.Handle("GET /static/", next)
	mux.HandleFunc("GET "+signInPath, g.form)
	mux.HandleFunc("POST "+signInPath, g.signIn)
	mux.HandleFunc("GET "+signInPath+"/provider", g.toProvider)
	mux.HandleFunc("GET "+oidc.CallbackPath, g.fromProvider)
	mux.Handle("/", g.signedIn(inside))
	return mux
}

// signedIn puts the person into the context of those who have signed in.
func (g *Gate) signedIn(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token := g.token(r)
		a, err := g.Sessions.Resume(r.Context(), token)
		switch {
		case errors.Is(err, session.ErrNone):
			g.outside(w, r)
			return
		case err != nil:
			g.failed(w, r, err)
			return
		}
		p, err := g.person(a, token)
		if err != nil {
			g.failed(w, r, err)
			return
		}
		r = r.WithContext(person.With(r.Context(), p))
		if !g.meant(w, r, token) {
			return
		}
		if p.Provisional && !provisional[r.URL.Path] {
			g.first(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// provisional are what somebody may do who has to change the password first.
var provisional = map[string]bool{"/account": true, "/account/password": true, "/sign-out": true, "/theme": true}

// first sends somebody to change the password.
func (g *Gate) first(w http.ResponseWriter, r *http.Request) {
	if navigates(r) && r.Method == http.MethodGet {
		http.Redirect(w, r, "/account", http.StatusSeeOther)
		return
	}
	http.Error(w, "Change your password first: somebody else has seen it.", http.StatusForbidden)
}

// person of an account's session.
func (g *Gate) person(a account.Account, token string) (person.Person, error) {
	grant, err := g.grant(a.Principal())
	if err != nil {
		return person.Person{}, err
	}
	return person.Person{
		Principal: a.Principal(), Name: a.Display(), CSRF: session.CSRF(token), Session: session.Digest(token), Grant: grant, Provisional: a.Provisional,
		Signed: func(ctx context.Context) bool {
			now, err := g.Sessions.Look(ctx, token)
			if err != nil {
				return !errors.Is(err, session.ErrNone)
			}
			same, err := g.grant(now.Principal())
			return err != nil || same == grant
		},
	}, nil
}

// heldGrants bounds the grants in memory; a full memory starts afresh.
const heldGrants = 4096

// grant signs once for each person and what they may do, so that services behind
// find grants that they have verified.
func (g *Gate) grant(p identity.Principal) (string, error) {
	key := p.Key() + " " + strings.Join(p.Scopes, " ")
	g.mu.Lock()
	defer g.mu.Unlock()
	if grant, ok := g.grants[key]; ok {
		return grant, nil
	}
	grant, err := g.Granter.Grant(p)
	if err != nil {
		return "", err
	}
	if len(g.grants) >= heldGrants {
		clear(g.grants)
	}
	g.grants[key] = grant
	return grant, nil
}

// meant tells whether a request that changes something was sent by a page of the
// session, and answers it otherwise. That no other site has sent it is checked before.
func (g *Gate) meant(w http.ResponseWriter, r *http.Request, token string) bool {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return true
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	csrf := r.Header.Get("X-CSRF-Token")
	if csrf == "" {
		csrf = r.PostFormValue("csrf")
	}
	if session.Checks(token, csrf) {
		return true
	}
	g.problem(w, r, http.StatusForbidden, "This was not sent", "The page that it came from is from before you signed in last, or from somewhere else. Go back, load the page again, and send it once more.")
	return false
}

// outside answers somebody who has not signed in.
func (g *Gate) outside(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	switch {
	case !navigates(r):
		http.Error(w, "You are signed out. Load the page again to sign in.", http.StatusUnauthorized)
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		g.problem(w, r, http.StatusUnauthorized, "You are signed out", "What you sent was not done. Sign in, and send it again.")
	default:
		http.Redirect(w, r, signInAt(r.URL.RequestURI()), http.StatusSeeOther)
	}
}

// navigates tells a browser that goes to a page from a script that asks for something.
func navigates(r *http.Request) bool {
	if mode := r.Header.Get("Sec-Fetch-Mode"); mode != "" {
		return mode == "navigate"
	}
	return strings.Contains(r.Header.Get("Accept"), "text/html")
}

func (g *Gate) problem(w http.ResponseWriter, r *http.Request, status int, title, text string) {
	g.pages.Show(w, r, page.View{Status: status, Title: title, Body: page.Problem(title, text), Still: true})
}

// failed answers when it cannot be told who somebody is.
func (g *Gate) failed(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() == nil {
		g.Log.Error("sign-in failed", "path", r.URL.Path, "error", err)
	}
	w.Header().Set("Retry-After", "5")
	g.problem(w, r, http.StatusServiceUnavailable, "The console cannot tell who you are now", "Its database gives no answer; the reason is in its log. Try again in a moment.")
}

// What those are told who keep no accounts.
const (
	forAdmins = "This is for administrators"
	askAdmins = "Accounts are kept by those who have the role admin. Ask one of them."
)

// admins lets administrators through alone.
func (g *Gate) admins(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if p, ok := person.Of(r.Context()); !ok || !p.Has(identity.Admin) {
			g.problem(w, r, http.StatusForbidden, forAdmins, askAdmins)
			return
		}
		next(w, r)
	}
}
