//go:build browser

package browser

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestBrowser runs every file of specs, each on a platform of its own.
func TestBrowser(t *testing.T) {
	node, chromium := programs(t)
	files, err := filepath.Glob("specs/*.spec.mjs")
	if err != nil || len(files) == 0 {
		t.Fatal(len(files), err)
	}
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".spec.mjs"), func(t *testing.T) {
			p := up(t)
			p.Chromium = chromium
			spec(t, node, f, p)
		})
	}
}

// TestScreenshots photographs every screen, light and dark, wide and narrow, into the
// folder that SCREENSHOTS names, or into one that goes with the test. The pictures of
// docs/console.md are among them, as guide-NAME.png.
func TestScreenshots(t *testing.T) {
	node, chromium := programs(t)
	p := up(t)
	p.Chromium, p.Out = chromium, t.TempDir()
	if out := os.Getenv("SCREENSHOTS"); out != "" {
		p.Out = absolute(t, filepath.Join(root, out))
		if filepath.IsAbs(out) {
			p.Out = out
		}
	}
	spec(t, node, "screens.mjs", p)
	shrink(t, p.Out)
}
