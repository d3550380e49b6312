// Package tokens knows callers by bearer tokens (JWT, RFC 7519) of issuers that the
// operator trusts: identity providers of the own or of other organisations.
package tokens

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"

	"sabha.dev/chassis/identity"
)

// Config of one issuer.
type Config struct {
	// Issuer as its tokens state it (iss). Its keys are found by its discovery document
	// (OpenID Connect Discovery 1.0), unless KeysURL or KeysFile names them.
	Issuer string `yaml:"issuer"`
	// Audience that tokens must be for (aud): what names this platform at the issuer.
	Audience string `yaml:"audience"`
	// KeysURL is where a JWKS with the issuer's keys is; KeysFile a file with it, for an
	// issuer that cannot be reached from here.
	KeysURL  string `yaml:"keys_url"`
	KeysFile string `yaml:"keys_file"`
	// Organisations whose people and agents the issuer speaks for. Without a claim that
	// names the organisation it is one, that of everybody whom it knows.
	Organisations []string `yaml:"organisations"`
	// Roles and Groups that are believed of this issuer; absent means none: its callers
	// are callers like any other.
	Roles  []string `yaml:"roles"`
	Groups []string `yaml:"groups"`
	// Claims says where a token tells who the caller is.
	Claims Claims `yaml:"claims"`
}

// Claims are paths in a token: names of claims, with dots where one is within another,
// such as realm_access.roles.
type Claims struct {
	// Subject is the stable name; absent means sub.
	Subject string `yaml:"subject"`
	// Organisation; absent means that there is one alone.
	Organisation string `yaml:"organisation"`
	// Roles and Groups are lists, or texts with spaces; absent means roles and groups.
	Roles  string `yaml:"roles"`
	Groups string `yaml:"groups"`
}

// Discovered tells whether the issuer has a discovery document that others find it by.
func (c Config) Discovered() bool { return c.KeysURL == "" && c.KeysFile == "" }

// complete gives the defaults.
func (c Config) complete() Config {
	c.Claims.Subject = cmp.Or(c.Claims.Subject, "sub")
	c.Claims.Roles = cmp.Or(c.Claims.Roles, "roles")
	c.Claims.Groups = cmp.Or(c.Claims.Groups, "groups")
	return c
}

// Check says what is missing or cannot be meant in the issuers of a configuration.
func Check(issuers []Config) error {
	var errs []error
	wrong := func(i int, format string, args ...any) {
		errs = append(errs, fmt.Errorf("issuers[%d]."+format, append([]any{i}, args...)...))
	}
	for i, c := range issuers {
		switch {
		case c.Issuer == "":
			wrong(i, "issuer is missing: what its tokens state as iss")
		case slices.ContainsFunc(issuers[:i], func(o Config) bool { return o.Issuer == c.Issuer }):
			wrong(i, "issuer: %q stands twice", c.Issuer)
		case c.KeysURL == "" && c.KeysFile == "" && !secure(c.Issuer):
			wrong(i, "issuer: %q must be https:// with a host, or keys_url or keys_file must name its keys", c.Issuer)
		}
		if c.Audience == "" {
			wrong(i, "audience is missing: what its tokens for this platform state as aud")
		}
		if c.KeysURL != "" && c.KeysFile != "" {
			wrong(i, "keys_url and keys_file name the keys both; leave one out")
		}
		if c.KeysURL != "" && !secure(c.KeysURL) {
			wrong(i, "keys_url: %q must be https:// with a host", c.KeysURL)
		}
		switch {
		case len(c.Organisations) == 0:
			wrong(i, "organisations is missing: whom the issuer speaks for")
		case len(c.Organisations) > 1 && c.Claims.Organisation == "":
			wrong(i, "claims.organisation is missing: with several organisations a claim must tell which one a caller is of")
		}
		for _, o := range c.Organisations {
			if err := (identity.Principal{Subject: "a", Organisation: o}).Check(); o == "" || err != nil {
				wrong(i, "organisations: %q is no name of an organisation", o)
			}
		}
		for _, r := range c.Roles {
			if !slices.Contains(identity.Roles(), r) {
				wrong(i, "roles: %q is no role; roles are %v", r, identity.Roles())
			}
		}
		for _, g := range c.Groups {
			if (identity.Principal{Subject: "a", Scopes: []string{identity.GroupScope(g)}}).Check() != nil {
				wrong(i, "groups: %q is no name of a group", g)
			}
		}
	}
	return errors.Join(errs...)
}

// secure tells whether keys that are fetched from a URL can be believed.
func secure(raw string) bool {
	u, err := url.Parse(raw)
	return err == nil && u.Host != "" && u.Fragment == "" && u.User == nil && (u.Scheme == "https" || (u.Scheme == "http" && loopback(u.Hostname())))
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || (ip != nil && ip.IsLoopback())
}
