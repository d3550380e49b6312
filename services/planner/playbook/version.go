package playbook

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"sabha.dev/chassis/strictyaml"
)

// Version is a playbook's version: a whole number ("3") or a semantic version ("1.4.0",
// "2.0.0-rc.1"), as semver.org 2.0.0 defines it.
type Version string

var versionForm = regexp.MustCompile(`^(0|[1-9]\d{0,8})(\.(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?(\+[0-9A-Za-z.-]+)?)?$`)

// ParseVersion checks the form of a version.
func ParseVersion(s string) (Version, error) {
	if len(s) > 64 || !versionForm.MatchString(s) {
		return "", fmt.Errorf("%q is not a version; use a whole number such as 3 or a semantic version such as 1.4.0", strictyaml.Clip(s))
	}
	return Version(s), nil
}

// Compare orders versions: negative when v is older than w. A whole number n counts as n.0.0; a
// pre-release is older than its release; build metadata does not count.
func (v Version) Compare(w Version) int {
	vn, vp := v.split()
	wn, wp := w.split()
	for i := range vn {
		if c := cmp.Compare(vn[i], wn[i]); c != 0 {
			return c
		}
	}
	switch {
	case vp == wp:
		return 0
	case vp == "":
		return 1
	case wp == "":
		return -1
	}
	return comparePreRelease(strings.Split(vp, "."), strings.Split(wp, "."))
}

func (v Version) split() (numbers [3]int, preRelease string) {
	s, _, _ := strings.Cut(string(v), "+")
	s, preRelease, _ = strings.Cut(s, "-")
	for i, n := range strings.SplitN(s, ".", 3) {
		numbers[i], _ = strconv.Atoi(n)
	}
	return numbers, preRelease
}

func comparePreRelease(a, b []string) int {
	for i := range min(len(a), len(b)) {
		x, xErr := strconv.Atoi(a[i])
		y, yErr := strconv.Atoi(b[i])
		c := 0
		switch {
		case xErr == nil && yErr == nil:
			c = cmp.Compare(x, y)
		case xErr == nil:
			c = -1
		case yErr == nil:
			c = 1
		default:
			c = cmp.Compare(a[i], b[i])
		}
		if c != 0 {
			return c
		}
	}
	return cmp.Compare(len(a), len(b))
}
