package platform_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"sabha.dev/cmd/sabha/platform"
)

func TestAskAnswersWithCitations(t *testing.T) {
	p, err := platform.Start(t.Context(), platform.Options{
		Data: t.TempDir(), Docs: "testdata/docs", HTTP: "127.0.0.1:0", GRPC: "127.0.0.1:0", Console: "127.0.0.1:0",
		Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := p.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+p.HTTPAddr()+"/message:send",
		strings.NewReader(`{"message":{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"How often are backups taken?"}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("A2A-Version", "1.0")
	req.Header.Set("X-API-Key", p.FirstKey)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	if res.StatusCode != http.StatusOK || !strings.Contains(string(body), `"TASK_STATE_COMPLETED"`) || !strings.Contains(string(body), "every six hours") {
		t.Fatalf("%s: %s", res.Status, body)
	}
	t.Logf("%s", body)
}
