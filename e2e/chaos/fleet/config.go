package fleet

import (
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"
)

// replicas of each service.
const replicas = 2

// address is a free one on the loopback interface.
func (f *Fleet) address() string {
	port := f.ports[0]
	f.ports = f.ports[1:]
	return fmt.Sprintf("127.0.0.1:%d", port)
}

// schema is the URL of the database of a service.
func (f *Fleet) schema(service string) string {
	u, err := url.Parse(f.Database)
	if err != nil {
		return f.Database
	}
	q := u.Query()
	q.Set("search_path", service)
	u.RawQuery = q.Encode()
	return u.String()
}

// configure writes a configuration for every replica: the shipped one, with the
// addresses, stores and keys of this deployment.
func (f *Fleet) configure() error {
	inner := map[string][]string{} // gRPC addresses of each service's replicas
	for _, s := range f.services() {
		for range replicas {
			inner[s] = append(inner[s], f.address())
		}
	}
	for _, s := range f.services() {
		shipped, err := f.shipped(s)
		if err != nil {
			return err
		}
		for n := range replicas {
			c := map[string]any{}
			maps.Copy(c, shipped)
			http := f.address()
			c["http"], c["keys"], c["database"] = http, "keys", f.schema(s)
			switch s {
			case "gateway":
				g := Gateway{GRPC: f.address(), HTTP: f.address()}
				c["public_grpc"], c["public_http"] = g.GRPC, g.HTTP
				c["rate_limit"] = map[string]any{"caller": map[string]any{"per_second": 1e6, "burst": 1e6}}
				f.Gateways = append(f.Gateways, g)
			case "console":
				c["address"] = f.address()
			default:
				c["grpc"], c["nats"] = inner[s][n], f.natsURL
			}
			peers := map[string]any{}
			named, _ := c["peers"].(map[string]any)
			for name := range named {
				peers[name] = strings.Join(inner[name], ",")
			}
			if s == "planner" {
				agents := map[string]any{}
				for _, a := range f.Agents {
					agents[a.Name], peers[a.Name] = a.Skills, strings.Join(inner[a.Name], ",")
				}
				c["agents"], c["playbooks"] = agents, "playbooks"
			}
			if s == "research" {
				c["documents"] = f.Docs
			}
			if len(peers) > 0 {
				c["peers"] = peers
			}
			maps.Copy(c, f.Settings[s])
			if err := f.replica(s, n+1, http, c); err != nil {
				return err
			}
		}
	}
	return nil
}

// shipped reads the configuration that a service comes with.
func (f *Fleet) shipped(service string) (map[string]any, error) {
	for _, a := range f.Agents {
		if a.Name == service {
			return maps.Clone(a.Settings), nil
		}
	}
	raw, err := os.ReadFile(filepath.Join(f.Shipped, service+".yaml"))
	if err != nil {
		return nil, err
	}
	c := map[string]any{}
	return c, yaml.Unmarshal(raw, &c)
}

func (f *Fleet) replica(service string, n int, http string, c map[string]any) error {
	name := fmt.Sprintf("%s-%d", service, n)
	file := filepath.Join(f.dir, "config", name+".yaml")
	text, err := yaml.Marshal(c)
	if err != nil {
		return err
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return err
	}
	f.configs[service] = append(f.configs[service], file)
	p := f.process(service, name, http, append(f.command(service), "serve", "-config", file)...)
	f.Replicas[service] = append(f.Replicas[service], p)
	return nil
}
