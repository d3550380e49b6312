package interop

import ("testing";"os";"strings")

func TestTry(t *testing.T) {
	p := start(t)
	for _, b := range strings.Fields(os.Getenv("B")) {
		out, failure := run(t, "node", "js/"+os.Getenv("JS"), b, p.url, p.key, "0.3")
		t.Logf("%s\n%s\n%s", b, out, failure)
	}
}
