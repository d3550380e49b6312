package console

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"

	"sabha.dev/chassis/service"
)

// name of the service.
const name = "console"

// planner is the service that has the requests.
const planner = "planner"

// personas record calls; they are asked unless peers are configured.
var personas = []string{planner, "security", "memory", "research", "executor", "validator", "review"}

// Config of the console. Of the embedded one, GRPC, Database and NATS are not
// used. HTTP, when set, serves health and metrics.
type Config struct {
	service.Config `yaml:",inline"`
	// Address that serves the console, for example ":8081". Without a host it is
	// loopback: the console asks nobody who they are, so who reaches it sees all.
	Address string `yaml:"address"`
	// PublicTLS is the folder with tls.crt and tls.key that the console is served over
	// TLS with; empty for plain text.
	PublicTLS string `yaml:"public_tls"`
	// Hosts are the names beside those of loopback under which browsers reach the
	// console, without port, for example "console.internal". Calls under any other
	// name are refused.
	Hosts []string `yaml:"hosts"`
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
	return errors.Join(errs...)
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
