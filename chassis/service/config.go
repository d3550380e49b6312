// Package service turns a persona into a running process: configuration,
// database, event log, identity, the A2A engine and its ports.
package service

import (
	"bytes"
	"errors"
	"fmt"
	"os"

	"go.yaml.in/yaml/v3"

	"sabha.dev/chassis/egress"
	"sabha.dev/chassis/outlet"
	"sabha.dev/chassis/trace"
)

// Config is what every service is told.
type Config struct {
	// GRPC is the address that serves A2A to the platform's other services, for example ":9100".
	GRPC string `yaml:"grpc"`
	// HTTP is the address of health, metrics and the service's own HTTP endpoints; empty for none.
	HTTP string `yaml:"http"`
	// Database as package sqldb reads it.
	Database string `yaml:"database"`
	// NATS servers, comma-separated URLs.
	NATS string `yaml:"nats"`
	// Keys is the folder with <service>.key of this service and <service>.pub of all.
	Keys string `yaml:"keys"`
	// TLS is the folder with ca.crt, tls.crt and tls.key of this service, for mutual TLS
	// with the other services and NATS; empty for none.
	TLS string `yaml:"tls"`
	// Peers are the gRPC addresses of other services by name: one for each service,
	// or those of its replicas separated by commas.
	Peers map[string]string `yaml:"peers"`
	// OTLP is the URL of a collector that takes spans over gRPC, for example
	// http://localhost:4317; empty for none.
	OTLP string `yaml:"otlp"`
	// TraceRatio of the traces that begin here are recorded, from 0 to 1; absent means all.
	TraceRatio *float64 `yaml:"trace_ratio"`
	// Push says how events are sent to the webhooks of clients. The gateway and the
	// console, which have no tasks, do not use it.
	Push Push `yaml:"push"`
}

// Push is the configuration of webhooks.
type Push struct {
	// Allow opens networks beside the public ones, as CIDRs: loopback, private and
	// other special addresses are refused unless they are in one.
	Allow []string `yaml:"allow"`
	// MaxFailures in a row disable a configuration; 0 means 30, about 2.5 hours.
	MaxFailures int `yaml:"max_failures"`
	// Disclosure says what notifications may hold; without it they hold everything.
	Disclosure outlet.Policy `yaml:"disclosure"`
}

// Load reads a YAML file strictly: unknown keys are refused with their line.
// ${NAME} in it is the environment variable NAME, which must be set.
func Load(file string, into any) error {
	raw, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if raw, err = expand(raw, os.LookupEnv); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	dec := yaml.NewDecoder(bytes.NewReader(raw))
	dec.KnownFields(true)
	if err := dec.Decode(into); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

// Check says what is missing for a process of its own.
func (c Config) Check() error {
	var errs []error
	for _, f := range []struct{ name, value, help string }{
		{"grpc", c.GRPC, "the address to serve, for example :9100"},
		{"database", c.Database, "sqlite:PATH or postgres://…"},
		{"nats", c.NATS, "for example nats://127.0.0.1:4222"},
		{"keys", c.Keys, "the folder that sabha keys has made"},
	} {
		if f.value == "" {
			errs = append(errs, fmt.Errorf("%s is missing: %s", f.name, f.help))
		}
	}
	errs = append(errs, c.Push.check(), trace.Export{Endpoint: c.OTLP, Ratio: c.TraceRatio}.Check())
	return errors.Join(errs...)
}

func (p Push) check() error {
	var errs []error
	if _, err := egress.New(p.Allow); err != nil {
		errs = append(errs, fmt.Errorf("push.allow: %w", err))
	}
	if p.MaxFailures < 0 {
		errs = append(errs, errors.New("push.max_failures must not be negative"))
	}
	return errors.Join(errs...)
}
