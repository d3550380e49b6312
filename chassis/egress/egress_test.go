package egress_test

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"sabha.dev/chassis/egress"
)

func guard(t testing.TB, allow ...string) *egress.Guard {
	t.Helper()
	g, err := egress.New(allow)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestOnlyPublicAddressesMayBeCalled(t *testing.T) {
	g := guard(t)
	for _, public := range []string{
		"1.1.1.1", "8.8.8.8", "100.63.255.255", "100.128.0.1", "172.15.0.1", "172.32.0.1", "192.167.1.1", "198.17.0.1", "223.255.255.255", "::ffff:8.8.8.8",
		"2606:4700:4700::1111", "2a00:1450::1", "64:ff9b::808:808", "2002:808:808::1",
	} {
		if err := g.Check(netip.MustParseAddr(public)); err != nil {
			t.Errorf("%s: %v", public, err)
		}
	}
	for what, list := range map[string][]string{
		"loopback":             {"127.0.0.1", "127.255.255.254", "::1"},
		"private":              {"10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "fc00::1", "fd00:ec2::254"},
		"link-local, metadata": {"169.254.169.254", "fe80::1", "fe80::1%eth0", "168.63.129.16", "192.0.0.192"},
		"carrier":              {"100.64.0.1", "100.100.100.200", "100.127.255.255"},
		"unspecified":          {"0.0.0.0", "0.1.2.3", "::"},
		"multicast, reserved":  {"224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255", "ff02::1"},
		"documentation, tests": {"192.0.2.1", "198.51.100.1", "203.0.113.1", "198.18.0.1", "2001:db8::1", "3fff::1"},
		"IPv4 in IPv6": {
			"::ffff:127.0.0.1", "::ffff:10.0.0.1", "::127.0.0.1", "::10.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::a00:1", "2002:7f00:1::1", "2002:a00:1::",
		},
		"Teredo and others": {"2001::1", "2001:0:53aa:64c::1", "100::1", "fec0::1", "4000::1", "5f00::1"},
	} {
		for _, a := range list {
			var refused *egress.Refused
			if err := g.Check(netip.MustParseAddr(a)); !errors.As(err, &refused) {
				t.Errorf("%s address %s may be called (%v)", what, a, err)
			}
		}
	}
}

func TestNetworksAreOpenedByTheirCIDR(t *testing.T) {
	g := guard(t, "10.1.0.0/16", "::1/128", " 127.0.0.1 ", "fd00:1::/64")
	for _, a := range []string{"10.1.255.1", "::ffff:10.1.0.1", "64:ff9b::a01:1", "::1", "127.0.0.1", "fd00:1::5", "8.8.8.8"} {
		if err := g.Check(netip.MustParseAddr(a)); err != nil {
			t.Errorf("%s: %v", a, err)
		}
	}
	for _, a := range []string{"10.2.0.1", "127.0.0.2", "fd00:2::1", "::2", "fe80::1%lo"} {
		if g.Check(netip.MustParseAddr(a)) == nil {
			t.Errorf("%s may be called", a)
		}
	}
	for _, bad := range []string{"", "10.0.0.0/33", "ten", "::ffff:10.0.0.0/112", "fe80::1%eth0", "10.0.0.0/8,::1/128"} {
		if _, err := egress.New([]string{bad}); err == nil || !strings.Contains(err.Error(), "CIDR") {
			t.Errorf("network %q: error %v, want one that says what to write", bad, err)
		}
	}
}

func TestURLsThatCannotBeCalledAreRefusedWithTheReason(t *testing.T) {
	g := guard(t)
	for _, good := range []string{
		"https://example.com", "https://example.com/hook?x=1", "http://example.com:8080/", "https://[2606:4700::1]/x", "https://8.8.8.8:443/", "HTTPS://Example.COM./",
		"https://xn--bcher-kva.example/", "https://a_b.example.com/", "https://1.example/", "https://0x7f.example.com/",
	} {
		if err := g.CheckURL(good); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for bad, reason := range map[string]string{
		"":                                     "is missing",
		"example.com/hook":                     "must begin with",
		"//example.com/":                       "must begin with",
		"ftp://example.com/":                   "must begin with",
		"javascript:alert(1)":                  "must begin with",
		"https:///hook":                        "names no host",
		"https://:443/":                        "names no host",
		"https://example.com:/":                "names no port",
		"https://example.com:0/":               "is no port",
		"https://example.com:080/":             "is no port",
		"https://example.com:65536/":           "is no port",
		"https://example.com:25/":              "another protocol",
		"http://example.com:6379x/":            "is no URL",
		"https://u:p@example.com/":             "credentials",
		"https://u@example.com/":               "credentials",
		"https://example.com/#f":               "fragment",
		"https://example.com/#":                "fragment",
		"https://exa mple.com/":                "is no URL",
		"https://example.com/\nHost: x":        "is no URL",
		"https://bücher.example/":              "ASCII form",
		"https://１２７.０.０.１/":                   "ASCII form",
		"https://-x.example/":                  "is no name",
		"https://a..b/":                        "is no name",
		"https://./":                           "is no name",
		"http://127.0.0.1/":                    "not public",
		"http://[::1]/":                        "not public",
		"http://[::ffff:169.254.169.254]":      "not public",
		"http://[fe80::1%25eth0]/":             "one network interface",
		"http://localhost/":                    "not public",
		"http://api.LOCALHOST./":               "not public",
		"http://2130706433/":                   "not written plainly",
		"http://0x7f000001/":                   "not written plainly",
		"http://0x7f.1/":                       "not written plainly",
		"http://0177.0.0.1/":                   "not written plainly",
		"http://127.1/":                        "not written plainly",
		"http://127.0.0.0x1./":                 "not written plainly",
		"http://0x/":                           "not written plainly",
		"https://" + strings.Repeat("a", 3000): "longer than",
	} {
		var refused *egress.Refused
		if err := g.CheckURL(bad); !errors.As(err, &refused) || !strings.Contains(err.Error(), reason) {
			t.Errorf("%.60q: %v, want %q", bad, err, reason)
		}
	}
	if err := guard(t, "127.0.0.0/8").CheckURL("http://localhost:9000/"); err != nil {
		t.Errorf("localhost where loopback is open: %v", err)
	}
}

// The check that counts is on the address that is dialled: a name that leads to
// this machine is refused however it got there.
func TestTheDialledAddressIsWhatCounts(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the server was reached") }))
	defer server.Close()
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	poster := poster(t, guard(t))
	for _, host := range []string{"localhost", "127.0.0.1", "[::ffff:127.0.0.1]"} {
		_, err := poster.Post("http://"+host+":"+port+"/", nil, nil)
		var refused *egress.Refused
		if !errors.As(err, &refused) {
			t.Errorf("%s: %v, want a refusal", host, err)
		}
	}
}

func TestRedirectsAreNotFollowedAndProxiesNotUsed(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	t.Setenv("http_proxy", "http://127.0.0.1:1")
	server := httptest.NewServer(http.RedirectHandler("http://169.254.169.254/", http.StatusTemporaryRedirect))
	defer server.Close()
	a, err := poster(t, guard(t, "127.0.0.0/8")).Post(server.URL, nil, []byte("x"))
	if err != nil {
		t.Fatal(err)
	}
	if a.Status != http.StatusTemporaryRedirect {
		t.Errorf("status %d, want the redirect itself", a.Status)
	}
}

// Whatever passes the check, Go dials the host that was checked, and an address
// in it is public.
func FuzzCheckURL(f *testing.F) {
	for _, s := range []string{
		"https://example.com/hook", "http://127.0.0.1/", "http://0x7f.1/", "http://[::ffff:10.0.0.1]:80/", "http://2130706433", "https://u:p@h:1/", "http://１２７.１/", "http://a%2eb/",
		"http://127。0。0。1/", "http://[::]/", "http:\\\\127.0.0.1", "http://1.2.3.4.", "http://localhost%00.example.com/",
	} {
		f.Add(s)
	}
	g := guard(f)
	f.Fuzz(func(t *testing.T, raw string) {
		err := g.CheckURL(raw)
		if err != nil {
			var refused *egress.Refused
			if !errors.As(err, &refused) || refused.Reason == "" {
				t.Fatalf("%q: %v is no refusal with a reason", raw, err)
			}
			return
		}
		req, err := http.NewRequest(http.MethodPost, raw, nil)
		if err != nil {
			t.Fatalf("%q passed and is no request: %v", raw, err)
		}
		host := strings.TrimSuffix(req.URL.Hostname(), ".")
		if a, err := netip.ParseAddr(host); err == nil {
			if err := g.Check(a); err != nil {
				t.Fatalf("%q passed: %v", raw, err)
			}
		} else if ip := net.ParseIP(host); ip != nil {
			t.Fatalf("%q passed, and is the address %s", raw, ip)
		}
		if u, _ := url.Parse(raw); u.Scheme != "http" && u.Scheme != "https" {
			t.Fatalf("%q passed", raw)
		}
	})
}
