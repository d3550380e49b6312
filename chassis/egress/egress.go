// Package egress decides which addresses the platform may call for others: a
// client that names a URL must not reach what only this machine can. The check
// that counts is made when a connection is dialled, on the address itself, so
// that neither spelling nor name resolution gets around it.
package egress

import (
	"fmt"
	"net/netip"
	"strings"
)

// Refused is the error of an address or URL that may not be called. Its text may
// be shown to whoever named the URL.
type Refused struct{ Reason string }

// Error says why.
func (r *Refused) Error() string { return r.Reason }

func refuse(format string, args ...any) error { return &Refused{fmt.Sprintf(format, args...)} }

// Guard knows which addresses may be called: public ones, and the networks that
// the operator has opened.
type Guard struct{ allow []netip.Prefix }

// New makes a guard that opens networks beside the public ones, each a CIDR such
// as "10.1.0.0/16" or one address.
func New(allow []string) (*Guard, error) {
	g := &Guard{}
	for _, text := range allow {
		p, err := network(text)
		if err != nil {
			return nil, err
		}
		g.allow = append(g.allow, p)
	}
	return g, nil
}

func network(text string) (netip.Prefix, error) {
	text = strings.TrimSpace(text)
	if a, err := netip.ParseAddr(text); err == nil && a.Zone() == "" {
		a = a.Unmap()
		return netip.PrefixFrom(a, a.BitLen()), nil
	}
	p, err := netip.ParsePrefix(text)
	if err != nil || p.Addr().Is4In6() {
		return netip.Prefix{}, fmt.Errorf("%q is no network; write a CIDR such as 10.1.0.0/16 or fd00:1::/64", text)
	}
	return p.Masked(), nil
}

// Check refuses an address that is neither public nor opened. The error is *Refused.
func (g *Guard) Check(a netip.Addr) error {
	if a.Zone() != "" {
		return refuse("address %s belongs to one network interface", a)
	}
	if g.permits(a) {
		return nil
	}
	return refuse("address %s is not public, and its network has not been opened", a)
}

func (g *Guard) permits(a netip.Addr) bool {
	a = a.Unmap()
	for _, p := range g.allow {
		if p.Contains(a) {
			return true
		}
	}
	if a.Is4() {
		return !within(a, special4)
	}
	if inner, ok := embedded(a); ok {
		return g.permits(inner)
	}
	return global.Contains(a) && !within(a, special6)
}

func within(a netip.Addr, list []netip.Prefix) bool {
	for _, p := range list {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// embedded gives the IPv4 address that an IPv6 address leads to: NAT64 (RFC 6052)
// and 6to4 (RFC 3056).
func embedded(a netip.Addr) (netip.Addr, bool) {
	b := a.As16()
	switch {
	case nat64.Contains(a):
		return netip.AddrFrom4([4]byte(b[12:16])), true
	case sixToFour.Contains(a):
		return netip.AddrFrom4([4]byte(b[2:6])), true
	}
	return netip.Addr{}, false
}

var (
	// global is what is assigned of IPv6 for use on the internet.
	global    = netip.MustParsePrefix("2000::/3")
	nat64     = netip.MustParsePrefix("64:ff9b::/96")
	sixToFour = netip.MustParsePrefix("2002::/16")

	// special4 are the special-purpose ranges of IPv4 (IANA registry), and the address
	// of Azure's host, which looks public.
	special4 = prefixes(
		"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24",
		"192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16", "192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24",
		"203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4", "168.63.129.16/32",
	)
	// special6 are those of IPv6 within global: protocol assignments with Teredo, and
	// documentation.
	special6 = prefixes("2001::/23", "2001:db8::/32", "3fff::/20")
)

func prefixes(list ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(list))
	for i, p := range list {
		out[i] = netip.MustParsePrefix(p)
	}
	return out
}
