package item

import (
	"slices"
	"strings"
	"time"

	"sabha.dev/chassis/identity"
)

// Person is whoever looks at items.
type Person struct {
	// Key is organisation/subject; empty for nobody who is known.
	Key    string
	scopes []string
}

// PersonOf is the principal of a call.
func PersonOf(p identity.Principal) Person { return Person{p.Key(), p.Scopes} }

// PersonWith is a person with scopes.
func PersonWith(key string, scopes []string) Person { return Person{key, scopes} }

// Scopes are those of the person, a copy.
func (p Person) Scopes() []string { return slices.Clone(p.scopes) }

// Has tells whether the person has one of the scopes.
func (p Person) Has(scopes ...string) bool {
	return p.Key != "" && slices.ContainsFunc(scopes, func(s string) bool { return slices.Contains(p.scopes, s) })
}

// MayRead tells whether the person may see items.
func (p Person) MayRead() bool { return p.Has(identity.Roles()...) }

// MayHandOver tells whether the person may hand over what others hold.
func (p Person) MayHandOver() bool { return p.Has(identity.Operator, identity.Admin) }

// MayNotServe says why the person may not decide what the groups decide, or "".
func (p Person) MayNotServe(groups []string) string {
	switch {
	case !p.Has(identity.Reviewer, identity.Admin):
		return "deciding needs the scope reviewer or admin"
	case len(groups) > 0 && !slices.ContainsFunc(groups, func(g string) bool { return p.Has(identity.GroupScope(g)) }):
		return "it is for the group " + strings.Join(groups, " or ") + ", and you are not in it"
	}
	return ""
}

// mayNot says why the person may never decide the item as it is, or "".
func (i *Item) mayNot(p Person) string {
	if why := p.MayNotServe(i.Groups); why != "" {
		return why
	}
	if p.Key == i.Requester && !i.RequesterMayDecide {
		return "you asked for it yourself, and somebody else has to decide"
	}
	if i.approvedBy(p.Key) {
		return "you have approved it already, and another person has to as well"
	}
	return ""
}

// MayNotGet says why the item may not be handed to a person who is known, or "".
func (i *Item) MayNotGet(p Person) string {
	switch {
	case !p.Has(identity.Reviewer, identity.Admin):
		return p.Key + " has none of the roles reviewer and admin, and could not decide on it"
	case p.MayNotServe(i.Groups) != "":
		return p.Key + " is not in the group " + strings.Join(i.Groups, " or ") + ", and could not decide on it"
	}
	return i.notHanded(p.Key)
}

// notHanded says why the item may not be handed to whoever it is, or "".
func (i *Item) notHanded(to string) string {
	switch {
	case to == i.Requester && !i.RequesterMayDecide:
		return to + " asked for it, and somebody else has to decide"
	case i.approvedBy(to):
		return to + " has approved it already, and another person has to as well"
	}
	return ""
}

// MayNot says why the person may not claim and decide the item now, or "".
func (i *Item) MayNot(p Person, now time.Time) string {
	if i.Ended() {
		return "it has ended"
	}
	if why := i.mayNot(p); why != "" {
		return why
	}
	if holder := i.HolderAt(now); holder != "" && holder != p.Key {
		return holder + " holds it until " + stamp(i.HeldUntil)
	}
	return ""
}

// approvedBy tells whether the person has approved what the item is now.
func (i *Item) approvedBy(person string) bool {
	return slices.ContainsFunc(i.Decisions, func(d Decision) bool { return d.Approved && d.Person == person && d.Stands == i.Digest })
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
