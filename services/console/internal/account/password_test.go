package account

import (
	"regexp"
	"strings"
	"testing"
)

func TestOnlyTheHashOfAPasswordMatches(t *testing.T) {
	const password = "correct horse battery"
	h := hash(password)
	if !matches(h, password) || h == hash(password) {
		t.Error("a hash must match its password and have a salt of its own")
	}
	for name, other := range map[string]string{
		"nobody's":          nobody,
		"none":              "",
		"without the sum":   h[:strings.LastIndexByte(h, '$')+1],
		"a shorter sum":     h[:len(h)-30],
		"another kind":      strings.Replace(h, "argon2id", "argon2i", 1),
		"another version":   strings.Replace(h, "v=19", "v=16", 1),
		"no passes":         strings.Replace(h, "t=2", "t=0", 1),
		"another pass":      strings.Replace(h, "t=2", "t=1", 1),
		"no lanes":          strings.Replace(h, "p=1", "p=0", 1),
		"too much memory":   strings.Replace(h, "m=19456", "m=4294967295", 1),
		"no base64":         strings.Replace(h, "$argon2id$", "$argon2id$", 1) + "!",
		"parts in disarray": "$argon2id$m=19456,t=2,p=1$v=19$AAAA$AAAA",
	} {
		if matches(other, password) {
			t.Errorf("%s: %q matches", name, other)
		}
	}
	if matches(h, password+" ") || matches(h, "") {
		t.Error("another password matches")
	}
}

func TestPasswordsThatWeMakeAreReadable(t *testing.T) {
	seen := map[string]bool{}
	for range 100 {
		p := newPassword()
		if !regexp.MustCompile(`^([a-hj-km-np-z2-9]{5}-){3}[a-hj-km-np-z2-9]{5}$`).MatchString(p) || seen[p] {
			t.Errorf("%q, twice: %t", p, seen[p])
		}
		seen[p] = true
	}
}
