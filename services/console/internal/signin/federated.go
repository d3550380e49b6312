package signin

import (
	"errors"
	"net/http"
	"net/url"
	"time"

	"sabha.dev/services/console/internal/account"
	"sabha.dev/services/console/internal/oidc"
	"sabha.dev/services/console/internal/page"
)

// flowLasts is how long somebody may take to sign in at the provider.
const flowLasts = 10 * time.Minute

func returning(to string) string { return url.Values{"return": {to}}.Encode() }

// toProvider begins a sign-in at the identity provider.
func (g *Gate) toProvider(w http.ResponseWriter, r *http.Request) {
	if g.Provider == nil {
		g.problem(w, r, http.StatusNotFound, "There is no such page", "No identity provider is configured.")
		return
	}
	flow := oidc.NewFlow(local(r.URL.Query().Get("return")))
	address, err := g.Provider.Begin(flow)
	if err != nil {
		g.refused(w, r, err)
		return
	}
	http.SetCookie(w, g.cookie(flowCookie, flow.String(), flowLasts))
	w.Header().Set("Cache-Control", "no-store")
	http.Redirect(w, r, address, http.StatusSeeOther)
}

// fromProvider takes whom the identity provider has signed in.
func (g *Gate) fromProvider(w http.ResponseWriter, r *http.Request) {
	if g.Provider == nil {
		g.problem(w, r, http.StatusNotFound, "There is no such page", "No identity provider is configured.")
		return
	}
	c, err := r.Cookie(g.cookieName(flowCookie))
	var flow oidc.Flow
	begun := err == nil
	if begun {
		flow, begun = oidc.ParseFlow(c.Value)
	}
	if !begun {
		g.refused(w, r, oidc.ErrRefused)
		return
	}
	http.SetCookie(w, g.cookie(flowCookie, "", 0)) // it is good once
	a, err := g.Provider.Finish(r.Context(), flow, r.URL.Query())
	if err == nil {
		a, err = g.People.Federate(r.Context(), a)
	}
	if err == nil && len(a.Roles) == 0 {
		err = errNoRole
	}
	if err != nil {
		g.refused(w, r, err)
		return
	}
	g.begin(w, r, a, local(flow.Return))
}

// errNoRole says that the provider gives somebody no role here.
var errNoRole = errors.New("you have no role in this console")

// refused says on the sign-in why the identity provider's did not do.
func (g *Gate) refused(w http.ResponseWriter, r *http.Request, err error) {
	status, text := http.StatusForbidden, ""
	switch {
	case errors.Is(err, oidc.ErrUnreachable):
		status, text = http.StatusBadGateway, "The identity provider cannot be reached. Try again in a moment."
	case errors.Is(err, oidc.ErrRefused):
		status, text = http.StatusBadRequest, "The sign-in did not come back as it began. Begin again."
	case errors.Is(err, oidc.ErrDeclined):
		text = "The identity provider did not sign you in."
	case errors.Is(err, oidc.ErrOrganisation):
		text = "People of your organisation do not sign in here."
	case errors.Is(err, oidc.ErrClaims):
		text = "The identity provider does not say who you are: the console's log has what is missing. Tell its operator."
	case errors.Is(err, account.ErrBad):
		text = "What the identity provider says of you cannot be an account here: the console's log has the reason. Tell its operator."
	case errors.Is(err, account.ErrElsewhere):
		text = "There is an account of your name that signs in another way. Ask an administrator."
	case errors.Is(err, account.ErrDisabled):
		text = "Your account is disabled. Ask an administrator."
	case errors.Is(err, errNoRole):
		text = "You have no role in this console. Ask those who keep the identity provider to give you one."
	default:
		g.failed(w, r, err)
		return
	}
	g.Log.WarnContext(r.Context(), "a sign-in of the identity provider was refused", "from", addressOf(r.RemoteAddr), "error", err)
	g.show(w, r, status, page.SignIn{Problem: text, Return: "/"})
}
