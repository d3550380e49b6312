package command_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sabha.dev/cmd/sabha/internal/command"
)

func TestContractCheckSaysWhatIsWrongAndWhatIsTooSmall(t *testing.T) {
	dir := t.TempDir()
	good, bad := filepath.Join(dir, "good.yaml"), filepath.Join(dir, "bad.yaml")
	for file, text := range map[string]string{
		good: "partner: underwriter\nowner: o\nmeasures: {rate: {number: data.rate}}\ntasks: {loan: {skill: s, text: hello, repeats: 2}}\n",
		bad:  "partner: underwriter\nowner: o\ntasks: {loan: {skil: s, text: hello}}\n",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	u := newUser("")
	if code := u.run(t.Context(), "contract", "check", good, bad); code != command.ExitFailure {
		t.Errorf("exit code %d", code)
	}
	if got, want := u.out.String(), good+": partner underwriter is sound, 1 golden task, 2 calls a run\n"+good+": note: rate: a run gives 2 values of it; it needs at least 8"; !strings.HasPrefix(got, want) {
		t.Errorf("output %q, want %q", got, want)
	}
	if got := u.err.String(); !strings.HasPrefix(got, bad+`:3: tasks.loan: unknown key "skil"`) {
		t.Errorf("standard error %q", got)
	}
	u = newUser("")
	if code := u.run(t.Context(), "contract", "check", filepath.Join(dir, "none.yaml")); code != command.ExitNotFound {
		t.Errorf("exit code %d for a file that is not there", code)
	}
}
