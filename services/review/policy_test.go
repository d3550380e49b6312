package review_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sabha.dev/services/review"
)

func TestCheckPolicySaysWhatIsWrongBeforeItIsInForce(t *testing.T) {
	dir := t.TempDir()
	const sound = "owner: desk\nreview_date: 2027-01-31\nversion: 4\nqueues:\n  general: {due: 8h}\ndefault: general\n"
	for name, text := range map[string]string{"good.yaml": sound, "bad.yaml": strings.Replace(sound, "default: general", "default: generl", 1)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	good, bad := filepath.Join(dir, "good.yaml"), filepath.Join(dir, "bad.yaml")
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"review", "check-policy", good}, 0, good + ": version 4 of desk is good; queues: 1\n"},
		{[]string{"review", "check-policy", bad}, 1, bad + `:6: default: unknown queue "generl" (did you mean "general"?); known queues: general` + "\n"},
		{[]string{"review", "check-policy"}, 2, "usage: check-policy FILE\n"},
		{[]string{"review", "serve"}, 9, ""},
	} {
		var out strings.Builder
		code := review.Command(c.args, &out, func([]string) int { return 9 })
		if code != c.code || out.String() != c.want {
			t.Errorf("%q: exit %d, %q; want %d, %q", c.args, code, out.String(), c.code, c.want)
		}
	}
}
