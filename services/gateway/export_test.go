package gateway

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"time"

	"google.golang.org/grpc"

	"sabha.dev/chassis/ext"
	"sabha.dev/chassis/service"
	"sabha.dev/testrig/clocktest"
)

// RunForTest runs the command and gives its exit code and what it wrote.
func RunForTest(ctx context.Context, args []string) (code int, out, errs string) {
	var stdout, stderr bytes.Buffer
	c := command{
		clock: clocktest.New(time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)), out: &stdout, err: &stderr,
		env: func() service.Env { return service.Env{Log: slog.New(slog.DiscardHandler)} },
	}
	code = c.run(ctx, args)
	return code, stdout.String(), stderr.String()
}

// Registered lists the methods of both servers, sorted, by full name.
func Registered(r *Running) []string {
	var all []string
	for _, s := range []*grpc.Server{r.publicGRPC, r.innerGRPC} {
		for service, info := range s.GetServiceInfo() {
			for _, m := range info.Methods {
				all = append(all, "/"+service+"/"+m.Name)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Behind is the gateway's own connection to a persona.
func Behind(r *Running, persona string) (grpc.ClientConnInterface, error) {
	return r.base.Peer(persona)
}

// ClientVersion is the metadata that only edges may set.
const ClientVersion = ext.MetadataClientVersion
