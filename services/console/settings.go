package console

import (
	"fmt"
	"reflect"

	"sabha.dev/chassis/service"
)

// ReadSettings takes from a file what a process that holds several services leaves to
// whoever runs it: hosts, public_url, session_idle, session_lifetime, oidc and
// trace_url. Other keys of the console's configuration are refused.
func (c *Config) ReadSettings(file string) error {
	var f Config
	if err := service.Load(file, &f); err != nil {
		return err
	}
	if f.Address != "" || f.PublicTLS != "" || !reflect.DeepEqual(f.Config, service.Config{}) {
		return fmt.Errorf("%s: only hosts, public_url, session_idle, session_lifetime, oidc and trace_url are for this file; the rest is given otherwise", file)
	}
	c.Hosts, c.PublicURL, c.SessionIdle, c.SessionLifetime, c.OIDC, c.TraceURL = f.Hosts, f.PublicURL, f.SessionIdle, f.SessionLifetime, f.OIDC, f.TraceURL
	return nil
}
