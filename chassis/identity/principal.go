// Package identity says who calls: the principal on whose behalf work is done,
// the service that does it, and the tokens that carry both between services.
package identity

import "context"

// Principal is on whose behalf a request is made. The organisation comes from
// the credential, never from the request.
type Principal struct {
	// Subject is stable: a key id, an OIDC subject. Empty means anonymous.
	Subject string `json:"sub"`
	// Organisation that the credential belongs to.
	Organisation string `json:"org,omitempty"`
	// Scopes that the credential grants.
	Scopes []string `json:"scopes,omitempty"`
}

// Anonymous tells whether nobody is known.
func (p Principal) Anonymous() bool { return p.Subject == "" }

// Key identifies the owner of a task: organisation and subject.
func (p Principal) Key() string {
	if p.Anonymous() {
		return ""
	}
	return p.Organisation + "/" + p.Subject
}

// Has tells whether the credential grants a scope.
func (p Principal) Has(scope string) bool {
	for _, s := range p.Scopes {
		if s == scope {
			return true
		}
	}
	return false
}

// Call is what a verified token says about a call.
type Call struct {
	Principal Principal
	// Actor is the service that calls, for example "gateway" or "planner".
	Actor string
	// Grant is the gateway's signed statement that the principal asked; it is stored
	// with the task and travels with every further call.
	Grant string
	// TaskID is the calling task, if a task calls.
	TaskID string
	// RootTaskID is the task that the client started, if any.
	RootTaskID string
	// Edge says that the call comes from outside the platform, through the gateway
	// or the bus, so its message is screened before it is worked on.
	Edge bool
}

type callKey struct{}

// WithCall puts a verified call into the context of a handler.
func WithCall(ctx context.Context, c Call) context.Context {
	return context.WithValue(ctx, callKey{}, c)
}

// CallOf gives the verified call of a handler's context.
func CallOf(ctx context.Context) (Call, bool) {
	c, ok := ctx.Value(callKey{}).(Call)
	return c, ok
}
