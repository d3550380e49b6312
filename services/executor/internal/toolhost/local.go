package toolhost

import (
	"context"
	"errors"
	"io"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Local is a server of our own within this process. It speaks MCP over a pipe, so that
// all that holds for the servers of others holds for it.
type Local interface {
	// Server gives one for a connection.
	Server() *mcp.Server
}

// What is said between the host and a local server beside the protocol.
const (
	// MetaUnusable of a tool says why it cannot be called.
	MetaUnusable = "sabha.dev/unusable"
	// MetaRepeatable of a call says that it may be made again; the operator has the last word on it.
	MetaRepeatable = "sabha.dev/repeatable"
	// MetaKey of a call is Call.Key.
	MetaKey = "sabha.dev/key"
)

// within connects a local server.
func within(l Local, f *frames) *wire {
	fromHost, toServer := io.Pipe()
	fromServer, toHost := io.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	gone := make(chan struct{})
	go func() {
		err := l.Server().Run(ctx, &mcp.IOTransport{Reader: fromHost, Writer: toHost, MaxLineLength: f.max + 4096})
		_ = fromHost.CloseWithError(errors.Join(err, io.EOF))
		_ = toHost.Close()
		close(gone)
	}()
	return &wire{
		transport: &mcp.IOTransport{Reader: f.reader(fromServer), Writer: &writer{toServer, f}, MaxLineLength: f.max + 4096},
		frames:    f, gone: gone,
		stop: func(<-chan struct{}) {
			cancel()
			_ = toServer.Close()
			_ = fromServer.Close()
			<-gone
		},
	}
}
