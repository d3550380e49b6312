package main

import (
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"time"
)

// The kit sends no credentials, and tasks belong to callers who are known. Each
// front hands what it gets to a port of the gateway with the API key of the one
// caller that the kit is taken for, and changes nothing else.

// listen opens a front's port.
func listen(address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s: %w; choose another address or stop what uses it", address, err)
	}
	return l, nil
}

// newFront makes the front of a gateway's port. A gRPC port speaks HTTP/2 without TLS.
func newFront(target, key string, grpc bool, log *slog.Logger) *http.Server {
	protocols := &http.Protocols{}
	protocols.SetHTTP1(!grpc)
	protocols.SetUnencryptedHTTP2(grpc)
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "http", Host: target})
			r.Out.Header.Set("X-API-Key", key)
		},
		// Streams are flushed at every write without being asked to. An answer without a
		// body must not be: a gRPC error travels in the header that also ends the stream.
		Transport: &http.Transport{Protocols: protocols, DisableCompression: true},
		// A client that has gone away in the middle of a stream is the usual reason.
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	return &http.Server{
		Protocols: protocols, ReadHeaderTimeout: 10 * time.Second,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			// Otherwise the server closes the request's body when the answer begins. The
			// transport may not have seen its end yet, and would drop the connection.
			if err := http.NewResponseController(w).EnableFullDuplex(); err != nil {
				log.Warn("a front cannot answer while it reads", "error", err)
			}
			proxy.ServeHTTP(w, r)
		}),
	}
}
