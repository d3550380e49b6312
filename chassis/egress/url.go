package egress

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// maxURL bounds a URL, bytes.
const maxURL = 2048

// CheckURL refuses a URL that cannot be called, as far as it shows: another scheme
// than http and https, credentials in it, a port of another protocol, an address
// that is not public or not written plainly. What a name leads to shows only when
// it is dialled. The error is *Refused.
func (g *Guard) CheckURL(raw string) error {
	if raw == "" {
		return refuse("is missing; give an absolute URL")
	}
	if len(raw) > maxURL {
		return refuse("is longer than %d characters", maxURL)
	}
	u, err := url.Parse(raw)
	if err != nil || strings.ContainsFunc(raw, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return refuse("is no URL")
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return refuse("must begin with https:// or http://")
	case u.User != nil:
		return refuse("must not hold credentials; give them apart")
	case u.Fragment != "" || strings.Contains(raw, "#"):
		return refuse("must not have a fragment")
	case u.Hostname() == "":
		return refuse("names no host")
	}
	if err := checkPort(u); err != nil {
		return err
	}
	return g.checkHost(u.Hostname())
}

func checkPort(u *url.URL) error {
	text := u.Port()
	if text == "" {
		if strings.HasSuffix(u.Host, ":") {
			return refuse("names no port after the colon")
		}
		return nil
	}
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n == 0 || text[0] == '0' {
		return refuse("port %s is no port", text)
	}
	if foreign[n] {
		return refuse("port %d belongs to another protocol than HTTP", n)
	}
	return nil
}

func (g *Guard) checkHost(host string) error {
	if a, err := netip.ParseAddr(host); err == nil {
		return g.Check(a)
	}
	name := strings.ToLower(strings.TrimSuffix(host, "."))
	if name == "" || len(name) > 253 {
		return refuse("host %q is no name", host)
	}
	labels := strings.Split(name, ".")
	for _, l := range labels {
		if !isLabel(l) {
			return refuse("host %q is no name; write names of other alphabets in their ASCII form", host)
		}
	}
	last := labels[len(labels)-1]
	if numeric(last) {
		// Resolvers read 2130706433, 0x7f.1 and 0177.0.0.1 as addresses.
		return refuse("address %q is not written plainly; write four decimal numbers", host)
	}
	if last == "localhost" {
		return g.Check(netip.AddrFrom4([4]byte{127, 0, 0, 1}))
	}
	return nil
}

// isLabel accepts what host names are made of, and the underscore that some have.
func isLabel(l string) bool {
	if l == "" || len(l) > 63 || l[0] == '-' || l[len(l)-1] == '-' {
		return false
	}
	return !strings.ContainsFunc(l, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '_'
	})
}

// numeric tells whether a label is a number as the C library reads one.
func numeric(l string) bool {
	if digits, ok := strings.CutPrefix(l, "0x"); ok {
		return strings.Trim(digits, "0123456789abcdef") == ""
	}
	return strings.Trim(l, "0123456789") == ""
}

// foreign are ports of protocols that a request could be mistaken in (WHATWG
// Fetch, "bad port").
var foreign = func() map[uint64]bool {
	m := map[uint64]bool{}
	for _, p := range []uint64{
		1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109, 110, 111, 113, 115,
		117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587,
		601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679,
		6697, 10080,
	} {
		m[p] = true
	}
	return m
}()
