// Package identity says who calls: the principal on whose behalf work is done,
// the service that does it, and the tokens that carry both between services.
//
// Two services are edges: the gateway authenticates callers by their API keys, the
// console people who sign in. Each signs a grant for whom it has authenticated, and
// the grant travels with every call that is made on their behalf. What somebody may
// do is decided by the service that does it, from the scopes of the grant: the Rule
// of a method names the actors that may call it and the scopes of which the
// principal needs one.
//
//	identity.Policy{
//		reviewv1.ReviewService_Decide_FullMethodName: {
//			Actors: []string{identity.Gateway, identity.Console},
//			Scopes: []string{identity.Reviewer, identity.Admin},
//		},
//	}
//
// A person is an organisation and a subject: an API key and an account of the
// console that have both in common belong to the same person.
package identity

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Scopes of people: what a grant opens beside the tasks that its principal owns.
const (
	// Viewer sees every task.
	Viewer = "viewer"
	// Reviewer decides on what waits for a person.
	Reviewer = "reviewer"
	// Operator sees every task and acts on it.
	Operator = "operator"
	// Auditor sees every task and its audit.
	Auditor = "auditor"
	// Admin may do what any of the others may, and keeps the accounts.
	Admin = "admin"
	// groupPrefix begins the scope that says that a principal belongs to a group.
	groupPrefix = "group:"
)

// Roles are the scopes that a person may be given, the least first.
func Roles() []string { return []string{Viewer, Reviewer, Operator, Auditor, Admin} }

// GroupScope is the scope of those who belong to a group.
func GroupScope(group string) string { return groupPrefix + group }

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

var (
	personName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._@+:-]{0,127}$`)
	scopeName  = regexp.MustCompile(`^[a-z][a-z0-9._:-]{0,63}$`)
)

// Check says what a principal that is given credentials lacks, in words for people.
// Owners of tasks are told apart by organisation and subject joined with a slash, so
// neither may contain one.
func (p Principal) Check() error {
	if !personName.MatchString(p.Subject) {
		return fmt.Errorf("subject %q must have 1 to 128 letters, digits or . _ @ + : -", p.Subject)
	}
	if p.Organisation != "" && !personName.MatchString(p.Organisation) {
		return fmt.Errorf("organisation %q must have at most 128 letters, digits or . _ @ + : -", p.Organisation)
	}
	if i := slices.IndexFunc(p.Scopes, func(s string) bool { return !scopeName.MatchString(s) }); i >= 0 {
		return fmt.Errorf("scope %q must have 1 to 64 lower-case letters, digits or . _ : -, a letter first", p.Scopes[i])
	}
	return nil
}

// Groups that the principal belongs to.
func (p Principal) Groups() []string {
	var groups []string
	for _, s := range p.Scopes {
		if g, ok := strings.CutPrefix(s, groupPrefix); ok {
			groups = append(groups, g)
		}
	}
	return groups
}

// Call is what a verified token says about a call.
type Call struct {
	Principal Principal
	// Actor is the service that calls, for example "gateway" or "planner".
	Actor string
	// Grant is an edge's signed statement that the principal asked; it is stored
	// with the task and travels with every further call.
	Grant string
	// TaskID is the calling task, if a task calls.
	TaskID string
	// RootTaskID is the task that the client started, if any.
	RootTaskID string
	// Edge says that the call comes from outside the platform, through an edge or the
	// bus, so its message is screened before it is worked on.
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
