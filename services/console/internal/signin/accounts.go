package signin

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"sabha.dev/chassis/identity"
	"sabha.dev/services/console/internal/account"
	"sabha.dev/services/console/internal/page"
	"sabha.dev/services/console/internal/person"
	"sabha.dev/services/console/internal/session"
)

// own shows a person's own account.
func (g *Gate) own(w http.ResponseWriter, r *http.Request) { g.showOwn(w, r, 0, "") }

// showOwn shows what came of a form, if it did, with the person's own account.
func (g *Gate) showOwn(w http.ResponseWriter, r *http.Request, status int, problem string) {
	v := g.ownView(r, problem)
	if v.Body == nil {
		g.failed(w, r, errUnread)
		return
	}
	if status != 0 {
		v.Status, v.Still = status, true
	}
	g.pages.Show(w, r, v)
}

// Own is the page of a person's own account, as it is read again and again while the
// person looks at it.
func (g *Gate) Own(r *http.Request) page.View { return g.ownView(r, "") }

func (g *Gate) ownView(r *http.Request, problem string) page.View {
	p, _ := person.Of(r.Context())
	// Who has yet to choose a password may not ask for a stream.
	v := page.View{Title: "Your account", Still: p.Provisional}
	a, err := g.People.Account(r.Context(), p.Organisation, p.Subject)
	var all []session.Session
	if err == nil {
		all, err = g.Sessions.Of(r.Context(), p.Organisation, p.Subject)
	}
	if err != nil && !errors.Is(err, account.ErrNone) {
		if r.Context().Err() == nil {
			g.Log.Error("an account cannot be read", "error", err)
		}
		v.Unread = "The console's database"
		return v
	}
	if a.Disabled || !slices.ContainsFunc(all, func(s session.Session) bool { return s.Digest == p.Session }) {
		v.Status, v.Title = http.StatusUnauthorized, "You are signed out"
		v.Body = page.Problem(v.Title, "This session was ended elsewhere, or your account is disabled. Load the page again to sign in.")
		return v
	}
	own := page.Own{
		Account: entry(a), Provisional: p.Provisional, Local: a.Source == account.Local, Problem: problem, Admin: a.Principal().Has(identity.Admin),
	}
	for _, s := range all {
		own.Sessions = append(own.Sessions, page.Session{ID: s.Digest[:12], Here: s.Digest == p.Session, Created: s.Created, Used: s.Used, Ends: s.Ends})
	}
	v.Body = page.OwnAccount(own)
	return v
}

// changePassword gives the person another password, and ends their other sessions.
func (g *Gate) changePassword(w http.ResponseWriter, r *http.Request) {
	p, _ := person.Of(r.Context())
	password := r.PostFormValue("password")
	if password != r.PostFormValue("again") {
		g.showOwn(w, r, http.StatusBadRequest, "The new password is not the same both times.")
		return
	}
	guessed := "account " + p.Key() // a browser that was left open must not help to guess
	wait, err := g.guesses.take(r.Context(), guessed, ofAccount)
	if err != nil {
		g.failed(w, r, err)
		return
	}
	if wait > 0 {
		g.showOwn(w, r, http.StatusTooManyRequests, "Too many attempts. Try again in a minute.")
		return
	}
	err = g.People.ChangePassword(r.Context(), p.Organisation, p.Subject, r.PostFormValue("old"), password)
	switch {
	case errors.Is(err, account.ErrRefused):
		g.showOwn(w, r, http.StatusForbidden, "The present password is another.")
		return
	case errors.Is(err, account.ErrBad), errors.Is(err, account.ErrElsewhere):
		g.showOwn(w, r, http.StatusBadRequest, sentence(err))
		return
	}
	if err == nil {
		err = g.guesses.back(r.Context(), guessed, ofAccount)
	}
	if err == nil {
		err = g.Sessions.EndAll(r.Context(), p.Organisation, p.Subject, g.token(r))
	}
	if err != nil {
		g.failed(w, r, err)
		return
	}
	g.Log.InfoContext(r.Context(), "a password was changed", "person", p.Key())
	g.pages.Done(w, r, "Your password is changed. Your other sessions have ended.", "/account")
}

// accounts lists the accounts.
func (g *Gate) accounts(w http.ResponseWriter, r *http.Request) {
	v := g.Accounts(r)
	if v.Body == nil {
		g.failed(w, r, errUnread)
		return
	}
	g.pages.Show(w, r, v)
}

// Accounts is the page of all accounts, for administrators alone, as it is read again and
// again while somebody looks at it.
func (g *Gate) Accounts(r *http.Request) page.View {
	v := page.View{Title: "Accounts"}
	if p, ok := person.Of(r.Context()); !ok || !p.Has(identity.Admin) {
		v.Status, v.Title, v.Still = http.StatusForbidden, forAdmins, true
		v.Body = page.Problem(forAdmins, askAdmins)
		return v
	}
	l, err := g.listed(r, page.Accounts{})
	if err != nil {
		v.Unread = "The console's database"
		return v
	}
	v.Body = page.AccountList(l)
	return v
}

// errUnread says that accounts cannot be read; why is in the log.
var errUnread = errors.New("accounts cannot be read")

// showAccounts shows what came of a form, with the accounts.
func (g *Gate) showAccounts(w http.ResponseWriter, r *http.Request, status int, l page.Accounts) {
	l, err := g.listed(r, l)
	if err != nil {
		g.failed(w, r, err)
		return
	}
	g.pages.Show(w, r, page.View{Status: status, Title: "Accounts", Still: true, Body: page.AccountList(l)})
}

// listed adds all accounts to a list.
func (g *Gate) listed(r *http.Request, l page.Accounts) (page.Accounts, error) {
	all, err := g.People.All(r.Context())
	if err != nil {
		if r.Context().Err() == nil {
			g.Log.Error("accounts cannot be listed", "error", err)
		}
		return l, err
	}
	p, _ := person.Of(r.Context())
	for _, a := range all {
		one := entry(a)
		one.Self = a.Organisation == p.Organisation && a.Subject == p.Subject
		l.All = append(l.All, one)
	}
	l.CSRF, l.Roles = p.CSRF, identity.Roles()
	return l, nil
}

func entry(a account.Account) page.Account {
	source := a.Source
	if source == account.Local {
		source = ""
	}
	return page.Account{
		Full: a.Full(), Display: a.Display(), Name: a.Name, Issuer: source, Roles: a.Roles, Groups: a.Groups, Disabled: a.Disabled,
		Provisional: a.Provisional, Created: a.Created, SignedIn: a.SignedIn,
	}
}

// sent reads the account that a form names, with what it says of it.
func sent(r *http.Request) account.Account {
	a := account.Account{
		Name: strings.TrimSpace(r.PostFormValue("display")), Roles: r.PostForm["role"],
		Groups:   strings.FieldsFunc(r.PostFormValue("groups"), func(c rune) bool { return c == ',' || c == ' ' }),
		Disabled: r.PostFormValue("disabled") != "",
	}
	a.Organisation, a.Subject = account.Parse(r.PostFormValue("account"))
	return a
}

// addAccount makes an account and shows its password, this once.
func (g *Gate) addAccount(w http.ResponseWriter, r *http.Request) {
	a := sent(r)
	password, err := g.People.Add(r.Context(), a, "")
	if err != nil {
		g.unchanged(w, r, a, err)
		return
	}
	g.note(r, "an account was added", a)
	g.showAccounts(w, r, http.StatusOK, page.Accounts{Made: a.Full(), Password: password})
}

// changeAccount changes what a person is and may do.
func (g *Gate) changeAccount(w http.ResponseWriter, r *http.Request) {
	a := sent(r)
	p, _ := person.Of(r.Context())
	if a.Organisation == p.Organisation && a.Subject == p.Subject && (a.Disabled || !a.Principal().Has(identity.Admin)) {
		g.unchanged(w, r, a, errOwn)
		return
	}
	if err := g.People.Change(r.Context(), a); err != nil {
		g.unchanged(w, r, a, err)
		return
	}
	g.note(r, "an account was changed", a)
	g.pages.Done(w, r, a.Full()+" is changed. It takes effect at once.", "/accounts")
}

// errOwn keeps the last administrator from locking everybody out.
var errOwn = errors.New("another administrator must do this: nobody disables themselves or gives up the role admin")

// resetPassword gives an account another password and shows it, this once.
func (g *Gate) resetPassword(w http.ResponseWriter, r *http.Request) {
	a := sent(r)
	password, err := g.People.SetPassword(r.Context(), a.Organisation, a.Subject, "")
	if err == nil {
		err = g.Sessions.EndAll(r.Context(), a.Organisation, a.Subject, "")
	}
	if err != nil {
		g.unchanged(w, r, a, err)
		return
	}
	g.note(r, "a password was set by an administrator", a)
	g.showAccounts(w, r, http.StatusOK, page.Accounts{Made: a.Full(), Password: password})
}

// unchanged says why an account is as it was.
func (g *Gate) unchanged(w http.ResponseWriter, r *http.Request, a account.Account, err error) {
	status := http.StatusBadRequest
	switch {
	case errors.Is(err, account.ErrTaken):
		status = http.StatusConflict
	case errors.Is(err, account.ErrNone):
		status = http.StatusNotFound
	case errors.Is(err, errOwn):
		status = http.StatusConflict
	case errors.Is(err, account.ErrBad), errors.Is(err, account.ErrElsewhere):
	default:
		g.failed(w, r, err)
		return
	}
	g.showAccounts(w, r, status, page.Accounts{Problem: a.Full() + ": " + sentence(err)})
}

func (g *Gate) note(r *http.Request, what string, a account.Account) {
	p, _ := person.Of(r.Context())
	g.Log.InfoContext(r.Context(), what, "account", a.Principal().Key(), "scopes", a.Principal().Scopes, "disabled", a.Disabled, "by", p.Key())
}

// sentence is what an error of the accounts says to a person.
func sentence(err error) string {
	s := err.Error()
	for _, prefix := range []string{"add an account: ", "change an account: ", "change a password: ", account.ErrBad.Error() + ": "} {
		s = strings.TrimPrefix(s, prefix)
	}
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:] + "."
}
