package signin

import (
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Names of cookies. Over TLS they have the prefix that keeps every other host and
// every path from setting them (RFC 6265bis, section 4.1.3.2).
const (
	sessionCookie = "sabha"
	flowCookie    = "sabha-sign-in"
)

func (g *Gate) cookie(name, value string, lasts time.Duration) *http.Cookie {
	c := &http.Cookie{Name: name, Value: value, Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: g.Secure, MaxAge: int(lasts.Seconds())}
	if value == "" {
		c.MaxAge = -1
	}
	c.Name = g.cookieName(name)
	return c
}

func (g *Gate) cookieName(name string) string {
	if g.Secure {
		return "__Host-" + name
	}
	return name
}

// token of the session that a browser names; empty without one.
func (g *Gate) token(r *http.Request) string {
	if c, err := r.Cookie(g.cookieName(sessionCookie)); err == nil {
		return c.Value
	}
	return ""
}

const signInPath = "/sign-in"

// signInAt is the sign-in that leads to a page.
func signInAt(page string) string {
	if page = local(page); page == "/" {
		return signInPath
	}
	return signInPath + "?" + url.Values{"return": {page}}.Encode()
}

// maxReturn bounds the address of a page to go on to, bytes.
const maxReturn = 2000

// local is the address of a page of this console, or that of its first page for
// whatever is none: browsers take //host, /\host and addresses with control
// characters for those of other hosts.
func local(to string) string {
	u, err := url.Parse(to)
	if err != nil || len(to) > maxReturn || !strings.HasPrefix(to, "/") || strings.HasPrefix(to, "//") || u.Scheme != "" || u.Host != "" || u.User != nil ||
		strings.ContainsFunc(to, func(r rune) bool { return r <= ' ' || r == '\\' || r == 0x7f }) {
		return "/"
	}
	if u.Path == signInPath || strings.HasPrefix(u.Path, signInPath+"/") {
		return "/" // it would lead here again
	}
	return to
}
