package binding_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// BenchmarkSend measures one send with 1 KiB of text through each binding, sockets
// and client included.
func BenchmarkSend(b *testing.B) {
	message := `{"message":{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"` + strings.Repeat("x", 1024) + `"}]}}`
	for _, c := range []struct{ name, path, body string }{
		{"REST", "/message:send", message},
		{"JSONRPC", "/rpc", `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":` + message + `}`},
	} {
		b.Run(c.name, func(b *testing.B) {
			r := serve(b, &agent{})
			b.ReportAllocs()
			for b.Loop() {
				resp, err := http.Post(r.URL+c.path, "application/json", strings.NewReader(c.body))
				if err != nil {
					b.Fatal(err)
				}
				if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != 200 {
					b.Fatalf("status %d: %v", resp.StatusCode, err)
				}
				_ = resp.Body.Close()
			}
		})
	}
}
