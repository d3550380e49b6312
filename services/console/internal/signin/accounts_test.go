package signin_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"sabha.dev/services/console/internal/account"
)

var secretOf = regexp.MustCompile(`<code class="secret">([^<]+)</code>`)

func TestAdministratorsKeepTheAccounts(t *testing.T) {
	r := start(t)
	r.add(t, account.Account{Subject: "admin", Roles: []string{"admin"}})
	b := r.browser(t)
	b.signIn(t, "admin", password)
	made := b.post(t, "/accounts", url.Values{"account": {"acme/bo"}, "display": {" Bo <b> "}, "role": {"viewer", "reviewer"}, "groups": {"claims, loans"}})
	made.want(t, "adding", http.StatusOK, "The password of <strong>acme/bo</strong> is shown only now", "Bo &lt;b&gt;")
	secret := secretOf.FindStringSubmatch(made.body)
	if secret == nil {
		t.Fatal("no password is shown")
	}
	if strings.Contains(b.get(t, "/accounts").body, secret[1]) || strings.Contains(r.logs.String(), secret[1]) {
		t.Error("the password is shown again")
	}
	bo := r.browser(t)
	bo.signIn(t, "acme/bo", secret[1]).want(t, "signing in", http.StatusSeeOther)
	bo.post(t, "/account/password", url.Values{"old": {secret[1]}, "password": {password}, "again": {password}})
	bo.get(t, "/tasks").want(t, "a page", http.StatusOK, "acme/bo may viewer reviewer group:claims group:loans")
	bo.get(t, "/accounts").want(t, "accounts for a reviewer", http.StatusForbidden, "This is for administrators")
	bo.post(t, "/accounts/change", url.Values{"account": {"acme/bo"}, "role": {"admin"}}).want(t, "a role for oneself", http.StatusForbidden)
	bo.post(t, "/accounts", url.Values{"account": {"evil"}, "role": {"admin"}}).want(t, "an account for a reviewer", http.StatusForbidden)
	bo.post(t, "/accounts/password", url.Values{"account": {"admin"}}).want(t, "a password for a reviewer", http.StatusForbidden)

	b.post(t, "/accounts/change", url.Values{"account": {"acme/bo"}, "display": {"Bo"}, "role": {"operator"}}).want(t, "changing", http.StatusSeeOther, "/accounts")
	bo.get(t, "/tasks").want(t, "at once", http.StatusOK, "called Bo; acme/bo may operator;")
	b.post(t, "/accounts/change", url.Values{"account": {"acme/bo"}, "role": {"operator"}, "disabled": {"yes"}}).want(t, "disabling", http.StatusSeeOther)
	if bo.in(t) {
		t.Error("disabled, and still in")
	}
	b.post(t, "/accounts/change", url.Values{"account": {"acme/bo"}, "role": {"operator"}}).want(t, "enabling", http.StatusSeeOther)
	if !bo.in(t) {
		t.Error("enabled again, and out")
	}
	b.post(t, "/accounts/password", url.Values{"account": {"acme/bo"}}).want(t, "another password", http.StatusOK, "The password of <strong>acme/bo</strong>")
	if bo.in(t) {
		t.Error("the password was reset, and the session lasts")
	}

	for name, c := range map[string]struct {
		path   string
		form   url.Values
		status int
		says   string
	}{
		"there already":  {"/accounts", url.Values{"account": {"acme/bo"}}, http.StatusConflict, "There is such an account already."},
		"no name":        {"/accounts", url.Values{}, http.StatusBadRequest, "must have 1 to 128 letters"},
		"no such role":   {"/accounts", url.Values{"account": {"cy"}, "role": {"boss"}}, http.StatusBadRequest, "is no role"},
		"nobody":         {"/accounts/change", url.Values{"account": {"nobody"}}, http.StatusNotFound, "There is no such account."},
		"nobody's":       {"/accounts/password", url.Values{"account": {"nobody"}}, http.StatusNotFound, "There is no such account."},
		"oneself":        {"/accounts/change", url.Values{"account": {"admin"}, "role": {"admin"}, "disabled": {"yes"}}, http.StatusConflict, "nobody disables themselves"},
		"one's own role": {"/accounts/change", url.Values{"account": {"admin"}, "role": {"viewer"}}, http.StatusConflict, "gives up the role admin"},
	} {
		b.post(t, c.path, c.form).want(t, name, c.status, c.says)
	}
	if logged := r.logs.String(); !strings.Contains(logged, "an account was changed") || !strings.Contains(logged, "by=/admin") {
		t.Errorf("the log does not say who did what: %s", logged)
	}
}
