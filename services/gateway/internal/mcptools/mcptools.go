// Package mcptools offers what the agents behind the gateway can do as tools of the
// Model Context Protocol. A call of a tool is a message of A2A to the agent, through
// the same proxy as every other binding: what it starts is a task like any other,
// whose id the result tells.
//
// Callers who are not known are offered search, fetch, get_changes and whoami, no
// more and no less (Knowledge for Agents); others also every skill of every card
// that they may see.
package mcptools

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"google.golang.org/grpc"

	"sabha.dev/chassis/clock"
	"sabha.dev/chassis/identity"
	"sabha.dev/chassis/toolserver"
	"sabha.dev/chassis/trace"
)

// Path of the endpoint.
const Path = "/mcp"

const (
	// mostSessions of clients of older versions are held at once, each until no request
	// has come in for sessionIdle.
	mostSessions = 4096
	sessionIdle  = 30 * time.Minute
	// callWithin is how long a call waits for its task; then it tells that the task goes on.
	callWithin = 10 * time.Minute
	// acceptWithin bounds how long a task may take to be stored.
	acceptWithin = 30 * time.Second
	// maxBody of a request, bytes.
	maxBody = 4 << 20
)

// Agents are the personas behind the gateway, for calls whose caller is in the context.
type Agents interface {
	SendStreamingMessage(q *a2apb.SendMessageRequest, out grpc.ServerStreamingServer[a2apb.StreamResponse]) error
	GetTask(ctx context.Context, q *a2apb.GetTaskRequest) (*a2apb.Task, error)
	CancelTask(ctx context.Context, q *a2apb.CancelTaskRequest) (*a2apb.Task, error)
	GetExtendedAgentCard(ctx context.Context, q *a2apb.GetExtendedAgentCardRequest) (*a2apb.AgentCard, error)
}

// Cards are the public cards of the agents.
type Cards interface {
	Card(ctx context.Context, tenant string) (*a2apb.AgentCard, error)
}

// Parts are what a server stands on.
type Parts struct {
	Agents Agents
	Cards  Cards
	// Front is the name of the agent at the root, whose tenant is empty; Tenants are the others.
	Front   string
	Tenants []string
	// Host is the name under which clients reach the gateway.
	Host    string
	Release string
	Clock   clock.Clock
	Log     *slog.Logger
}

// Server offers the tools.
type Server struct {
	Parts
	sessions *toolserver.Sessions
	offers   offers
}

// New makes a server.
func New(p Parts) *Server {
	s := &Server{Parts: p, offers: offers{byCaller: map[string]offer{}, byContent: map[string]*mcp.Server{}}}
	s.sessions = toolserver.NewSessions(mostSessions, sessionIdle, func(r *http.Request) bool { return !callerOf(r.Context()).Anonymous() }, p.Clock)
	return s
}

func callerOf(ctx context.Context) identity.Principal {
	call, _ := identity.CallOf(ctx)
	return call.Principal
}

// Handler serves requests whose call is in their context (identity.CallOf).
func (s *Server) Handler() http.Handler {
	endpoint := toolserver.Endpoint{Server: s.serverOf, MaxBody: maxBody, Sessions: s.sessions, Host: s.Host, Log: s.Log}.Handler()
	known := auth.RequireBearerToken(told, nil)(endpoint)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if callerOf(r.Context()).Anonymous() {
			endpoint.ServeHTTP(w, r)
			return
		}
		// The SDK binds a session to the holder of a token, and tells each call of a session
		// by whom it was made; who that is has been found out already.
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer known")
		known.ServeHTTP(w, r)
	})
}

// callKey and traceKey are what a request knows of its call, in the extras of its token.
const (
	callKey  = "call"
	traceKey = "trace"
)

// told makes of the call in a request's context what the SDK keeps of tokens.
func told(ctx context.Context, _ string, r *http.Request) (*auth.TokenInfo, error) {
	call, ok := identity.CallOf(ctx)
	if !ok {
		return nil, auth.ErrInvalidToken
	}
	return &auth.TokenInfo{
		UserID: call.Principal.Key(), Expiration: time.Now().Add(time.Hour),
		Extra: map[string]any{callKey: call, traceKey: trace.Of(r.Context())},
	}, nil
}

// asCaller puts the call that a request makes into its context: within a session, the
// context is that of the request that began it.
func asCaller(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if extra := req.GetExtra(); extra != nil && extra.TokenInfo != nil {
			if call, ok := extra.TokenInfo.Extra[callKey].(identity.Call); ok {
				ctx = identity.WithCall(ctx, call)
			}
			if place, ok := extra.TokenInfo.Extra[traceKey].(trace.Context); ok {
				ctx = trace.With(ctx, place)
			}
		}
		return next(ctx, method, req)
	}
}
