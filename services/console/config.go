package console

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"sabha.dev/chassis/service"
	"sabha.dev/services/console/internal/oidc"
	"sabha.dev/services/console/internal/session"
)

// name of the service.
const name = "console"

// planner is the service that has the requests.
const planner = "planner"

// personas record calls; they are asked unless peers are configured.
var personas = []string{planner, "security", "memory", "research", "executor", "validator", "review", "partners"}

// Config of the console. Of the embedded one, GRPC and NATS are not used. HTTP, when
// set, serves health and metrics.
type Config struct {
	service.Config `yaml:",inline"`
	// Address that serves the console, for example ":8081". Without a host it is loopback.
	Address string `yaml:"address"`
	// PublicTLS is the folder with tls.crt and tls.key that the console is served over
	// TLS with; empty for plain text.
	PublicTLS string `yaml:"public_tls"`
	// Hosts are the names beside those of loopback under which browsers reach the
	// console, without port, for example "console.internal". Calls under any other
	// name are refused.
	Hosts []string `yaml:"hosts"`
	// PublicURL is where browsers reach the console, for example
	// "https://console.example.com". It is needed for an identity provider, and says that
	// a proxy in front ends TLS. Its host is one of Hosts.
	PublicURL string `yaml:"public_url"`
	// SessionIdle is how long somebody stays signed in without asking for a page, and
	// SessionLifetime at all; 0 means 8 hours and 24.
	SessionIdle     time.Duration `yaml:"session_idle"`
	SessionLifetime time.Duration `yaml:"session_lifetime"`
	// OIDC is the identity provider that signs people in beside the local accounts.
	OIDC oidc.Config `yaml:"oidc"`
	// TraceURL is the address of a trace in the store of traces, with {trace_id} in
	// place of its id; empty for no link.
	TraceURL string `yaml:"trace_url"`
	// Agents are further services that record calls, beside the personas or, where
	// peers are configured, beside those. Processes that hold several services set it.
	Agents []string `yaml:"-"`
}

// Check says what is missing for a process of its own, or wrong for any.
func (c Config) Check() error {
	var errs []error
	if c.Keys == "" {
		errs = append(errs, errors.New("keys is missing: the folder that sabha keys has made"))
	}
	if c.Peers[planner] == "" {
		errs = append(errs, errors.New("peers.planner is missing: the gRPC address of the planner"))
	}
	if c.Database == "" {
		errs = append(errs, errNoDatabase)
	}
	return errors.Join(append(errs, c.wrong())...)
}

// wrong says what cannot be meant.
func (c Config) wrong() error {
	var errs []error
	if _, _, err := net.SplitHostPort(c.Address); err != nil {
		errs = append(errs, fmt.Errorf("address: %q must be host:port, or :port for loopback, for example :8081", c.Address))
	}
	for _, h := range c.Hosts {
		if h == "" || strings.ContainsAny(h, "/:*@ ") {
			errs = append(errs, fmt.Errorf("hosts: %q must be a host name alone, without scheme and port", h))
		}
	}
	u, err := url.Parse(c.PublicURL)
	switch {
	case c.PublicURL == "" && c.OIDC.Set():
		errs = append(errs, errors.New("public_url is missing: the identity provider sends people back there"))
	case c.PublicURL != "" && (err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil):
		errs = append(errs, fmt.Errorf("public_url: %q must be http:// or https:// with a host and no path", c.PublicURL))
	}
	if l := c.limits(); l.Idle < time.Minute || l.Whole < l.Idle {
		errs = append(errs, errors.New("session_idle must be a minute at least, and session_lifetime not shorter"))
	}
	if u, err := url.Parse(c.TraceURL); c.TraceURL != "" && (err != nil || (u.Scheme != "https" && u.Scheme != "http") || u.Host == "" || !strings.Contains(c.TraceURL, "{trace_id}")) {
		errs = append(errs, fmt.Errorf("trace_url: %q must be an http or https URL with {trace_id} in it", c.TraceURL))
	}
	return errors.Join(append(errs, c.OIDC.Check())...)
}

var errNoDatabase = errors.New("database is missing: sqlite:PATH or postgres://…")

// limits of sessions.
func (c Config) limits() session.Limits {
	return session.Limits{Idle: cmp.Or(c.SessionIdle, 8*time.Hour), Whole: cmp.Or(c.SessionLifetime, 24*time.Hour)}
}

// secure says that browsers reach the console over TLS.
func (c Config) secure() bool {
	return c.PublicTLS != "" || strings.HasPrefix(c.PublicURL, "https://")
}

// names that browsers may call the console by, beside those of loopback.
func (c Config) names() []string {
	if u, err := url.Parse(c.PublicURL); err == nil && u.Hostname() != "" {
		return append(slices.Clone(c.Hosts), u.Hostname())
	}
	return c.Hosts
}

// listen is the address to listen on.
func (c Config) listen() string {
	if strings.HasPrefix(c.Address, ":") {
		return "127.0.0.1" + c.Address
	}
	return c.Address
}

// overseen are the services that record calls.
func (c Config) overseen() []string {
	if len(c.Peers) == 0 {
		return append(slices.Clone(personas), c.Agents...)
	}
	return append(slices.Sorted(maps.Keys(c.Peers)), c.Agents...)
}
