package identity_test

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/identity"
)

func TestARuleNamesWhoMayCallAndOnWhoseBehalf(t *testing.T) {
	r := newRing(t, "gateway", "console", "planner", "research")
	const method = "/sabha.admin.v1.AdminService/CancelTasks"
	guard := identity.Guard{Verifier: r.verifier("research"), Log: slog.New(slog.DiscardHandler), Policy: identity.Policy{
		method: {Actors: []string{identity.Gateway, identity.Console}, Scopes: []string{identity.Operator, identity.Admin}},
	}}
	granted := func(edge string, scopes ...string) string {
		g, err := r.signer(t, edge).Grant(identity.Principal{Subject: "omar", Organisation: "acme", Scopes: scopes})
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	for name, c := range map[string]struct {
		actor, grant string
		want         fault.Reason
		said         string
	}{
		"an operator at the console":     {"console", granted("console", "viewer", "operator"), "", ""},
		"an administrator by API key":    {"gateway", granted("gateway", "admin"), "", ""},
		"a grant of the other edge":      {"console", granted("gateway", "admin"), "", ""},
		"a viewer at the console":        {"console", granted("console", "viewer", "group:operator"), fault.PermissionDenied, "one of the roles operator, admin, and omar has none"},
		"nobody at the console":          {"console", "", fault.Unauthenticated, "sign in"},
		"a service for an administrator": {"planner", granted("console", "admin"), fault.PermissionDenied, "service planner may not"},
		"a grant that a service signed":  {"console", granted("planner", "admin"), fault.Unauthenticated, "does not verify"},
	} {
		tok := token(t, r.signer(t, c.actor), "research", identity.Call{Grant: c.grant})
		ctx := metadata.NewIncomingContext(t.Context(), metadata.Pairs("sabha-token", tok))
		called := false
		_, err := guard.Unary(ctx, nil, &grpc.UnaryServerInfo{FullMethod: method}, func(ctx context.Context, _ any) (any, error) {
			call, _ := identity.CallOf(ctx)
			called = call.Principal.Key() == "acme/omar" && call.Edge
			return nil, nil
		})
		switch {
		case c.want == "" && (err != nil || !called):
			t.Errorf("%s: %v, called %t", name, err, called)
		case c.want != "" && (called || !fault.Is(err, c.want) || !strings.Contains(fault.As(err).Message, c.said)):
			t.Errorf("%s: %v, called %t, want %s %q", name, err, called, c.want, c.said)
		}
	}
}

func TestGroupsAreScopes(t *testing.T) {
	p := identity.Principal{Scopes: []string{"viewer", identity.GroupScope("claims"), "group:loans-eu"}}
	if got := p.Groups(); !slices.Equal(got, []string{"claims", "loans-eu"}) || !p.Has(identity.GroupScope("claims")) {
		t.Errorf("groups %q", got)
	}
}
