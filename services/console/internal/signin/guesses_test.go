package signin

import "testing"

func TestWhomARequestComesFrom(t *testing.T) {
	for remote, want := range map[string]string{
		"192.0.2.7:4711": "192.0.2.7", "[::ffff:192.0.2.7]:4711": "192.0.2.7", "[2001:db8:1:2:3:4:5:6]:80": "2001:db8:1:2::/64",
		"[fe80::1%eth0]:80": "fe80::/64", "": "", "pipe": "pipe",
	} {
		if got := addressOf(remote); got != want {
			t.Errorf("%q is %q, want %q", remote, got, want)
		}
	}
}

func FuzzReturningStaysHere(f *testing.F) {
	for _, seed := range []string{"/", "/tasks?a=b", "//evil", `/\evil`, "https://evil", "/\tx", "/sign-in", "/%2f/evil", "/a#b", "\x00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, to string) {
		got := local(to)
		if got[0] != '/' || (len(got) > 1 && (got[1] == '/' || got[1] == '\\')) {
			t.Errorf("%q leads to %q", to, got)
		}
		if local(got) != got {
			t.Errorf("%q leads to %q, and that to %q", to, got, local(got))
		}
	})
}
