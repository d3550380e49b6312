// Package oidc has an OpenID Connect provider sign people in: the authorization code
// flow with PKCE (OpenID Connect Core 1.0, section 3.1; RFC 7636).
package oidc

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
)

// Config of a provider. All of it is needed but Scopes and Claims.
type Config struct {
	// Issuer is the provider's URL, under which its discovery document is. It is https
	// but on loopback.
	Issuer string `yaml:"issuer"`
	// ClientID of the console at the provider.
	ClientID string `yaml:"client_id"`
	// ClientSecretFile holds the client's secret.
	ClientSecretFile string `yaml:"client_secret_file"`
	// Scopes that are asked for beside openid; absent means profile and email.
	Scopes []string `yaml:"scopes"`
	// Claims says where the ID token tells who the person is.
	Claims Claims `yaml:"claims"`
	// Organisations whose people may sign in. Without a claim that names the
	// organisation it is one, that of everybody whom the provider signs in.
	Organisations []string `yaml:"organisations"`
}

// Claims are paths in the ID token: names of claims, with dots where one is within
// another, such as realm_access.roles.
type Claims struct {
	// Subject is the stable name; absent means sub. The claim email counts only when
	// email_verified is true.
	Subject string `yaml:"subject"`
	// Organisation; absent means that there is one alone.
	Organisation string `yaml:"organisation"`
	// Name as it is shown; absent means name.
	Name string `yaml:"name"`
	// Roles and Groups are lists, or texts with spaces; absent means roles and groups.
	// Of roles those count that are roles here.
	Roles  string `yaml:"roles"`
	Groups string `yaml:"groups"`
}

// Set tells whether a provider is configured.
func (c Config) Set() bool { return c.Issuer != "" }

// Check says what is missing or cannot be meant.
func (c Config) Check() error {
	if !c.Set() {
		if c.ClientID != "" || c.ClientSecretFile != "" {
			return errors.New("oidc.issuer is missing: the URL of the provider")
		}
		return nil
	}
	var errs []error
	if u, err := url.Parse(c.Issuer); err != nil || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || (u.Scheme != "https" && !(u.Scheme == "http" && loopback(u.Hostname()))) {
		errs = append(errs, fmt.Errorf("oidc.issuer: %q must be https:// with a host, as the provider states it", c.Issuer))
	}
	if c.ClientID == "" {
		errs = append(errs, errors.New("oidc.client_id is missing: that of the console at the provider"))
	}
	if c.ClientSecretFile == "" {
		errs = append(errs, errors.New("oidc.client_secret_file is missing: the file that holds the client's secret"))
	}
	switch {
	case len(c.Organisations) == 0:
		errs = append(errs, errors.New("oidc.organisations is missing: the organisations whose people may sign in"))
	case len(c.Organisations) > 1 && c.Claims.Organisation == "":
		errs = append(errs, errors.New("oidc.claims.organisation is missing: with several organisations a claim must tell which one a person is of"))
	}
	for _, o := range c.Organisations {
		if strings.TrimSpace(o) == "" {
			errs = append(errs, errors.New("oidc.organisations: a name is empty"))
		}
	}
	return errors.Join(errs...)
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || (ip != nil && ip.IsLoopback())
}
