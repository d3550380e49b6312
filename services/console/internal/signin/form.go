package signin

import (
	"errors"
	"math"
	"net/http"
	"strconv"
	"time"

	"sabha.dev/services/console/internal/account"
	"sabha.dev/services/console/internal/page"
	"sabha.dev/services/console/internal/person"
	"sabha.dev/services/console/internal/session"
)

// maxSignIn bounds the form of a sign-in, bytes.
const maxSignIn = 16 << 10

// form shows the sign-in. Who has signed in already is led on.
func (g *Gate) form(w http.ResponseWriter, r *http.Request) {
	to := local(r.URL.Query().Get("return"))
	if _, err := g.Sessions.Look(r.Context(), g.token(r)); err == nil {
		http.Redirect(w, r, to, http.StatusSeeOther)
		return
	}
	g.show(w, r, http.StatusOK, page.SignIn{Return: to})
}

func (g *Gate) show(w http.ResponseWriter, r *http.Request, status int, s page.SignIn) {
	s.Provider = g.provider()
	if s.Provider != "" {
		s.ProviderPath = signInPath + "/provider?" + returning(s.Return)
	}
	g.pages.Show(w, r, page.View{Status: status, Title: "Sign in", Body: page.SignInForm(s), Still: true})
}

func (g *Gate) provider() string {
	if g.Provider == nil {
		return ""
	}
	return g.Provider.Name()
}

// signIn takes a name and a password.
func (g *Gate) signIn(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxSignIn)
	name, to := r.PostFormValue("name"), local(r.PostFormValue("return"))
	organisation, subject := account.Parse(name)
	guessed, from := "account "+organisation+"/"+subject, "address "+addressOf(r.RemoteAddr)
	if len(guessed) > maxSignIn/8 {
		guessed = "account" // of a length that none has
	}
	wait, err := g.guesses.take(r.Context(), from, ofAddress)
	if err == nil && wait == 0 {
		wait, err = g.guesses.take(r.Context(), guessed, ofAccount)
	}
	if err != nil {
		g.failed(w, r, err)
		return
	}
	if wait > 0 {
		seconds := int(math.Ceil(wait.Seconds()))
		g.Log.WarnContext(r.Context(), "too many sign-ins were tried", "from", addressOf(r.RemoteAddr))
		w.Header().Set("Retry-After", strconv.Itoa(seconds))
		g.show(w, r, http.StatusTooManyRequests, page.SignIn{Return: to, Name: name, Problem: "Too many attempts. Try again in " + (time.Duration(seconds) * time.Second).String() + "."})
		return
	}
	a, err := g.People.Authenticate(r.Context(), name, r.PostFormValue("password"))
	switch {
	case errors.Is(err, account.ErrRefused):
		g.Log.InfoContext(r.Context(), "a sign-in was refused", "from", addressOf(r.RemoteAddr))
		g.show(w, r, http.StatusUnauthorized, page.SignIn{Return: to, Name: name, Problem: "The name or the password is wrong, or the account is disabled."})
		return
	case err != nil:
		g.failed(w, r, err)
		return
	}
	if err := errors.Join(g.guesses.back(r.Context(), from, ofAddress), g.guesses.back(r.Context(), guessed, ofAccount)); err != nil {
		g.failed(w, r, err)
		return
	}
	g.begin(w, r, a, to)
}

// begin begins a session in place of the one that the browser may have, so that a
// token that somebody else has put there is worth nothing (session fixation).
func (g *Gate) begin(w http.ResponseWriter, r *http.Request, a account.Account, to string) {
	if old := g.token(r); old != "" {
		if err := g.Sessions.End(r.Context(), old); err != nil {
			g.failed(w, r, err)
			return
		}
	}
	token, err := g.Sessions.Begin(r.Context(), a)
	if err != nil {
		g.failed(w, r, err)
		return
	}
	g.Log.InfoContext(r.Context(), "signed in", "person", a.Principal().Key(), "source", a.Source, "from", addressOf(r.RemoteAddr))
	http.SetCookie(w, g.cookie(sessionCookie, token, g.Sessions.Whole()))
	w.Header().Set("Cache-Control", "no-store")
	http.Redirect(w, r, to, http.StatusSeeOther)
}

// signOut ends the session.
func (g *Gate) signOut(w http.ResponseWriter, r *http.Request) {
	if err := g.Sessions.End(r.Context(), g.token(r)); err != nil && !errors.Is(err, session.ErrNone) {
		g.failed(w, r, err)
		return
	}
	g.out(w, r, "signed out")
}

// signOutEverywhere ends every session of the person.
func (g *Gate) signOutEverywhere(w http.ResponseWriter, r *http.Request) {
	p, _ := person.Of(r.Context())
	if err := g.Sessions.EndAll(r.Context(), p.Organisation, p.Subject, ""); err != nil {
		g.failed(w, r, err)
		return
	}
	g.out(w, r, "signed out everywhere")
}

func (g *Gate) out(w http.ResponseWriter, r *http.Request, what string) {
	p, _ := person.Of(r.Context())
	g.Log.InfoContext(r.Context(), what, "person", p.Key())
	http.SetCookie(w, g.cookie(sessionCookie, "", 0))
	// Nothing that the person has seen stays in the browser.
	w.Header().Set("Clear-Site-Data", `"cache"`)
	w.Header().Set("Cache-Control", "no-store")
	http.Redirect(w, r, signInPath, http.StatusSeeOther)
}
