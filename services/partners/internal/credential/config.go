// Package credential is what the platform shows to a partner so that it is let in: an
// API key, a bearer token, a name and a password, a token of OAuth2, a certificate.
// Secrets are in files and are read again when these change; they are in no error and no
// log.
package credential

import (
	"net/url"

	"sabha.dev/chassis/strictyaml"
)

// Type of a credential.
type Type string

// The types.
const (
	None   Type = "none"
	APIKey Type = "api-key"
	Bearer Type = "bearer"
	Basic  Type = "basic"
	OAuth2 Type = "oauth2" // client credentials (RFC 6749 section 4.4)
	MTLS   Type = "mtls"
)

// Config is the section credentials of an agreement.
type Config struct {
	Type Type
	// File holds the API key, the token, the password or the client's secret. White space
	// around it does not count.
	File string
	// In is "header" or "query" and Name that of the header or parameter, for an API key.
	In, Name string
	// User of Basic.
	User string
	// TokenURL, ClientID, Scopes and Audience of OAuth2.
	TokenURL, ClientID, Audience string
	Scopes                       []string
	// Certificate and Key are files of PEM that the client shows; CA is one of those that it
	// trusts instead of the system's. They go with every type, and are needed for MTLS. A
	// certificate that changes is read again, the CA when the agreement is.
	Certificate, Key, CA string
	// Plaintext allows to send secrets without TLS to other hosts than this one.
	Plaintext bool
}

// Parse reads the section. Problems are reported at the node.
func Parse(n strictyaml.Node) *Config {
	c := &Config{}
	f, ok := n.Fields("type", "file", "in", "name", "user", "token_url", "client_id", "scopes", "audience", "certificate", "key", "ca", "plaintext")
	if !ok {
		return c
	}
	if t, ok := f.Need("type"); ok {
		c.Type = Type(t.OneOf(string(None), string(APIKey), string(Bearer), string(Basic), string(OAuth2), string(MTLS)))
	}
	if c.Type == "" {
		return c
	}
	for _, k := range []struct {
		name string
		to   *string
		need bool
		of   []Type
	}{
		{"file", &c.File, true, []Type{APIKey, Bearer, Basic, OAuth2}},
		{"in", &c.In, false, []Type{APIKey}},
		{"name", &c.Name, true, []Type{APIKey}},
		{"user", &c.User, true, []Type{Basic}},
		{"token_url", &c.TokenURL, true, []Type{OAuth2}},
		{"client_id", &c.ClientID, true, []Type{OAuth2}},
		{"audience", &c.Audience, false, []Type{OAuth2}},
		{"certificate", &c.Certificate, c.Type == MTLS, nil},
		{"key", &c.Key, c.Type == MTLS, nil},
		{"ca", &c.CA, false, nil},
	} {
		at, there := f.Get(k.name)
		fits := k.of == nil
		for _, t := range k.of {
			fits = fits || t == c.Type
		}
		switch {
		case there && !fits:
			at.Problem("does not belong to the type %s; remove it", c.Type)
		case there:
			*k.to = at.Text()
		case fits && k.need:
			f.Need(k.name)
		}
	}
	if at, ok := f.Get("in"); ok && c.Type == APIKey {
		c.In = at.OneOf("header", "query")
	} else if c.Type == APIKey {
		c.In = "header"
	}
	if at, ok := f.Get("name"); ok && c.In == "header" && !isToken(c.Name) {
		at.Problem("is no name of a header")
	}
	if at, ok := f.Get("user"); ok {
		for _, r := range c.User {
			if r == ':' || r < ' ' {
				at.Problem("must not hold colons or control characters (RFC 7617)")
				break
			}
		}
	}
	if at, ok := f.Get("token_url"); ok && c.Type == OAuth2 {
		if u, err := url.Parse(c.TokenURL); err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http") {
			at.Problem("must be an absolute URL that begins with https://")
		}
	}
	if at, ok := f.Get("scopes"); ok {
		for _, s := range at.Items() {
			c.Scopes = append(c.Scopes, s.Text())
		}
		if c.Type != OAuth2 {
			at.Problem("does not belong to the type %s; remove it", c.Type)
		}
	}
	if at, ok := f.Get("plaintext"); ok {
		c.Plaintext = at.Bool()
	}
	if (c.Certificate == "") != (c.Key == "") {
		n.Problem("certificate and key go together; give both or neither")
	}
	return c
}

// isToken tells whether a text can be the name of a header (RFC 9110 section 5.1).
func isToken(s string) bool {
	for _, r := range s {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_' {
			return false
		}
	}
	return s != ""
}

// Secret tells whether the credential sends something that others must not see.
func (c *Config) Secret() bool {
	return c != nil && c.Type != None && c.Type != MTLS
}
