package web

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// policy of content: nothing but the console's own files, and no framing.
const policy = "default-src 'none'; script-src 'self'; worker-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
	"base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

// guard refuses what is not meant for the console and sets the headers of every
// answer. Host names that are not the console's are refused because a page of
// another site can make its own name point here (DNS rebinding) and would then
// read what browsers here may read.
func (s *Site) guard(next http.Handler) http.Handler {
	// What changes something must come from the console's own pages (RFC 9110 has
	// no such rule; browsers say where a call comes from in Sec-Fetch-Site and Origin).
	same := http.NewCrossOriginProtection()
	same.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "This came from a page of another site, so nothing was done.", http.StatusForbidden)
	}))
	next = same.Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		if !s.mayBe(r.Host) {
			http.Error(w, "The console does not answer to this host name. Call it by a loopback name such as localhost, or add the name to hosts in its configuration.", http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// mayBe tells whether a Host header names the console: a loopback name, or one
// that was configured. The port does not matter.
func (s *Site) mayBe(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.ToLower(strings.TrimSuffix(strings.TrimPrefix(name, "["), "]"))
	if name == "localhost" || slices.Contains(s.hosts, name) {
		return true
	}
	ip, err := netip.ParseAddr(name)
	return err == nil && ip.IsLoopback()
}
