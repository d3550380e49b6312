package card

import (
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/publicsuffix"
)

// Origin is where a card comes from, and what a person has vouched for.
type Origin struct {
	// URL that it was fetched from.
	URL string
	// Hosts beside that of the URL and those of its domain that interfaces may be on.
	Hosts []string
	// Vouched says that a person has named the organisation: the card may then come from
	// elsewhere than the organisation's own site.
	Vouched bool
}

// CheckOrigin refuses a card that sends callers, or claims to be, somewhere else than where
// it comes from: whoever publishes a card on a site speaks for that site alone.
func (c *Card) CheckOrigin(o Origin) error {
	from, err := url.Parse(o.URL)
	if err != nil {
		return refuse("it comes from no URL")
	}
	for _, i := range c.Interfaces {
		u, err := i.address()
		if err != nil {
			return err
		}
		switch host := u.Hostname(); {
		case u.Scheme == "http" && !local(host):
			return refuse("its interface %s is not encrypted; over public networks an interface begins with https://", clip(i.URL))
		case !SameSite(from.Hostname(), host) && !slices.ContainsFunc(o.Hosts, func(h string) bool { return strings.EqualFold(h, host) }):
			return refuse("it comes from %s and its interface %s is on another site; if that is right, name the host %s when it is registered", from.Hostname(), clip(i.URL), host)
		}
	}
	if c.Provider == "" || o.Vouched {
		return nil
	}
	u, err := url.Parse(c.Provider)
	if err != nil || u.Hostname() == "" {
		return refuse("the URL of its provider, %q, is not absolute", clip(c.Provider))
	}
	if !SameSite(from.Hostname(), u.Hostname()) {
		return refuse("it comes from %s and claims to be of %s (%s); if that is right, name the organisation when it is registered", from.Hostname(), clip(c.Organisation), u.Hostname())
	}
	return nil
}

// Address is where a probe of the interface connects.
func (i Interface) Address() (*url.URL, error) { return i.address() }

// address reads the URL of an interface; one of gRPC may be host:port alone.
func (i Interface) address() (*url.URL, error) {
	raw := i.URL
	grpc := strings.EqualFold(i.Binding, "GRPC")
	if grpc && raw != "" && !strings.Contains(raw, "://") {
		raw = "grpc://" + raw
	}
	u, err := url.Parse(raw)
	switch {
	case raw == "":
		return nil, refuse("an interface has no URL")
	case err != nil:
		return nil, refuse("the URL %q of an interface cannot be read", clip(i.URL))
	case u.Scheme == "" || u.Hostname() == "":
		return nil, refuse("the URL %q of an interface is relative; it must be absolute", clip(i.URL))
	case u.Scheme != "https" && u.Scheme != "http" && (!grpc || u.Scheme != "grpc" && u.Scheme != "grpcs"):
		return nil, refuse("the URL %q of an interface begins neither with https:// nor with http://", clip(i.URL))
	case u.User != nil:
		return nil, refuse("the URL of an interface holds credentials")
	}
	return u, nil
}

// SameSite tells whether two hosts belong to one owner, as far as names show: they are
// the same, or have one registrable domain (https://publicsuffix.org).
func SameSite(a, b string) bool {
	a, b = hostname(a), hostname(b)
	if a == b {
		return a != ""
	}
	if address(a) || address(b) {
		return false
	}
	da, errA := publicsuffix.EffectiveTLDPlusOne(a)
	db, errB := publicsuffix.EffectiveTLDPlusOne(b)
	return errA == nil && errB == nil && da == db
}

// Site is the registrable domain of a URL's host, or the host where it has none.
func Site(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	h := hostname(u.Hostname())
	if d, err := publicsuffix.EffectiveTLDPlusOne(h); err == nil && !address(h) {
		return d
	}
	return h
}

func hostname(h string) string { return strings.ToLower(strings.TrimSuffix(h, ".")) }

func address(h string) bool { _, err := netip.ParseAddr(h); return err == nil }

// local tells whether a host is in a private network by its name: a special address,
// localhost, or a name of one label, which only a private resolver knows. That its
// network is open for partners is checked when it is dialled.
func local(host string) bool {
	h := hostname(host)
	if a, err := netip.ParseAddr(h); err == nil {
		a = a.Unmap()
		return a.IsLoopback() || a.IsPrivate() || a.IsLinkLocalUnicast()
	}
	return h == "localhost" || strings.HasSuffix(h, ".localhost") || !strings.Contains(h, ".")
}

// Plain tells whether a URL may go without TLS: it is in a private network.
func Plain(raw string) bool {
	u, err := url.Parse(raw)
	return err == nil && u.Scheme == "http" && local(u.Hostname())
}
