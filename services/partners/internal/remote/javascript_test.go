package remote_test

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sabha.dev/testrig/leftout"
)

// folder has the JavaScript SDK and what its server needs, below the repository.
const folder = "e2e/interop/js"

// TestAgentsOfTheJavaScriptSDKAreCalled calls an agent on that SDK's own server.
func TestAgentsOfTheJavaScriptSDKAreCalled(t *testing.T) {
	node := leftout.Program(t, "node", "install Node.js 20 or newer")
	for _, binding := range []string{"JSONRPC", "HTTP+JSON", "GRPC"} {
		t.Run(binding, func(t *testing.T) {
			root, err := filepath.Abs("../../../../" + folder)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(filepath.Join(root, "node_modules/@a2a-js/sdk")); err != nil {
				leftout.Because(t, "the JavaScript SDK is not installed: run npm ci --prefix "+folder)
			}
			cmd := exec.Command(node, "testdata/foreign.cjs", root, binding)
			cmd.Stderr = os.Stderr
			out, err := cmd.StdoutPipe()
			if err == nil {
				err = cmd.Start()
			}
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				_ = cmd.Process.Kill()
				_ = cmd.Wait()
			})
			url, err := bufio.NewReader(out).ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			does(t, called("foreign", "1.0", binding, strings.TrimSpace(url)), "1.0", binding)
		})
	}
}
