// Package person says who has signed in and looks at a page.
//
// Every handler behind the sign-in finds the person in its context, and gRPC calls
// that are made with that context carry the person's grant: the service behind
// decides what the person may do, and its refusal is what the page shows.
//
//	p, _ := person.Of(r.Context())
//	_, err := admin.CancelTasks(r.Context(), …) // on behalf of p
//
// Forms carry p.CSRF as the field "csrf", scripts as the header X-CSRF-Token; the
// sign-in checks it for every method but GET and HEAD before a handler is called.
package person

import (
	"context"
	"slices"

	"sabha.dev/chassis/identity"
)

// Person has signed in.
type Person struct {
	// Principal has the roles and, as group:NAME, the groups as scopes.
	identity.Principal
	// Name as it is shown; never empty.
	Name string
	// CSRF is the token of the session that everything which changes something carries.
	CSRF string
	// Session names the session; it does not let anybody in.
	Session string
	// Grant is the console's signed statement that the person asked. It is the same for
	// every session of a person with the same roles and groups.
	Grant string
	// Provisional says that the password is known to somebody else and must be changed
	// before anything else is done.
	Provisional bool
	// Signed tells whether the session still is, for answers that take long.
	Signed func(context.Context) bool
}

// Roles of the person, the least first.
func (p Person) Roles() []string {
	return slices.DeleteFunc(identity.Roles(), func(r string) bool { return !p.Has(r) })
}

// Oversees tells whether the person may see the requests of everybody, as services
// decide it again. Who may not has the desk of reviews.
func (p Person) Oversees() bool {
	return slices.ContainsFunc([]string{identity.Viewer, identity.Operator, identity.Auditor, identity.Admin}, p.Has)
}

type key struct{}

// With puts a person into a context, and has gRPC calls made on their behalf.
func With(ctx context.Context, p Person) context.Context {
	return identity.WithOutgoing(context.WithValue(ctx, key{}, p), identity.Call{Grant: p.Grant})
}

// Of gives the person of a context; false when nobody has signed in.
func Of(ctx context.Context) (Person, bool) {
	p, ok := ctx.Value(key{}).(Person)
	return p, ok
}
