package service

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"

	"sabha.dev/chassis/sqldb"
)

// Paths of health on the HTTP port.
const (
	livePath  = "/healthz"
	readyPath = "/readyz"
)

// answerWithin bounds how long health waits for the database, and for an answer.
const answerWithin = 3 * time.Second

// Ready tells whether a service takes calls: its gRPC health serves, which it does
// not while it stops, and its database answers, if it has one. NATS may be away;
// tasks go on without it.
func Ready(ctx context.Context, h *health.Server, db *sqldb.DB) error {
	res, err := h.Check(ctx, &grpc_health_v1.HealthCheckRequest{})
	if err != nil || res.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING {
		return errors.New("stopping")
	}
	if db == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	if err := db.Read.PingContext(ctx); err != nil {
		return errors.New("the database does not answer")
	}
	return nil
}

// Probe serves /readyz: 200, or 503 with the reason.
func Probe(ready func(context.Context) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := ready(r.Context()); err != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = fmt.Fprintln(w, err)
			return
		}
		_, _ = io.WriteString(w, "ready\n")
	})
}

// live serves /healthz: the process answers.
func live(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") }

// Health asks the process that serves with a configuration whether it is ready, for
// containers that have no other program. address is the configured one of HTTP.
func Health(ctx context.Context, address string) error {
	if address == "" {
		return errors.New("http is missing in the configuration: it is where health is served")
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("http: %w", err)
	}
	if ip := net.ParseIP(host); host == "" || (ip != nil && ip.IsUnspecified()) {
		host = "localhost"
	}
	ctx, cancel := context.WithTimeout(ctx, 2*answerWithin)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort(host, port)+readyPath, nil)
	if err != nil {
		return err
	}
	// A probe keeps no connection and asks no proxy.
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("not ready: %w", err)
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		said, _ := io.ReadAll(io.LimitReader(res.Body, 200))
		return fmt.Errorf("not ready: %s", strings.TrimSpace(string(said)))
	}
	return nil
}
