package person_test

import (
	"context"
	"slices"
	"testing"

	"sabha.dev/chassis/identity"
	"sabha.dev/services/console/internal/person"
)

func TestThePersonOfAContext(t *testing.T) {
	if _, ok := person.Of(context.Background()); ok {
		t.Error("nobody has signed in, and there is a person")
	}
	p := person.Person{Principal: identity.Principal{Subject: "alma", Organisation: "acme", Scopes: []string{"operator", "group:claims", "viewer"}}, Name: "Alma Rao"}
	got, ok := person.Of(person.With(context.Background(), p))
	if !ok || got.Key() != "acme/alma" || !slices.Equal(got.Roles(), []string{"viewer", "operator"}) || !slices.Equal(got.Groups(), []string{"claims"}) {
		t.Errorf("got %+v, %t", got, ok)
	}
}
