package toolhost

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"sabha.dev/chassis/egress"
	"sabha.dev/services/executor/internal/credential"
)

// Server is one MCP server: a process that is started here, or a URL.
type Server struct {
	// Name is the first half of the names of its tools: small letters, digits and hyphens.
	Name string
	// Process is run and spoken to over its standard input and output; nil for a remote one.
	Process *Process
	// Remote is spoken to over Streamable HTTP; nil for a process.
	Remote *Remote
	// Local is a server within this process; nil for one outside.
	Local Local
	// StartTimeout bounds the way from nothing to a list of tools; CallTimeout bounds one call.
	StartTimeout, CallTimeout time.Duration
	// Refresh is how often the list of tools is read again, whether or not the server has said that it changed.
	Refresh time.Duration
	// MaxMessage is the longest message in bytes that is taken from the server.
	MaxMessage int
	// FirstUse approves what the server lists when nothing is known of it yet. Without it each tool waits for a person.
	FirstUse bool
	// Effects say what tools do, by name, whatever the server says of it.
	Effects map[string]Declared
}

// Process is a server that runs on this machine.
type Process struct {
	// Command is the program and its arguments. The program is looked up in PATH.
	Command []string
	// Env are its variables, each NAME=value. Of the environment of this process it gets PATH only.
	Env []string
	// Dir is its working directory; empty means this process's.
	Dir string
}

// Remote is a server elsewhere.
type Remote struct {
	// URL of its endpoint.
	URL string
	// Networks may be called beside public ones, each a CIDR.
	Networks []string
	// Headers are sent with each request: the value is read from the file whenever it is needed.
	HeaderFiles map[string]string
	// BearerFile holds a token that is sent as Authorization; empty for none.
	BearerFile string
	// OAuth asks for such a token; nil for none.
	OAuth *credential.OAuth
}

var serverName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$`)

// Validate names what cannot work.
func (s Server) Validate() error {
	var errs []error
	problem := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("MCP server "+s.Name+": "+format, args...))
	}
	if !serverName.MatchString(s.Name) {
		errs = append(errs, fmt.Errorf("MCP server %q: a name has small letters, digits and hyphens, at most 40", s.Name))
	}
	switch {
	case s.Local != nil && s.Process == nil && s.Remote == nil:
	case s.Local != nil || (s.Process == nil) == (s.Remote == nil):
		problem("give either a command or a url")
	case s.Process != nil && (len(s.Process.Command) == 0 || s.Process.Command[0] == ""):
		problem("no command is given")
	case s.Process != nil:
		for _, e := range s.Process.Env {
			if !strings.Contains(e, "=") {
				problem("environment entry %q is not NAME=value", e)
			}
		}
	default:
		if err := s.Remote.validate(); err != nil {
			problem("%w", err)
		}
	}
	if s.StartTimeout <= 0 || s.CallTimeout <= 0 {
		problem("start and call time limits must be positive")
	}
	if s.Refresh < time.Second {
		problem("its tools cannot be listed more often than each second")
	}
	if s.MaxMessage < 1<<10 {
		problem("the largest message must be at least 1024 bytes")
	}
	return errors.Join(errs...)
}

func (r *Remote) validate() error {
	guard, err := egress.New(r.Networks)
	if err != nil {
		return fmt.Errorf("networks: %w", err)
	}
	secret := r.BearerFile != "" || len(r.HeaderFiles) > 0 || r.OAuth != nil
	if err := credential.CheckURL(guard, r.URL, secret); err != nil {
		return fmt.Errorf("url: %w", err)
	}
	if r.BearerFile != "" && r.OAuth != nil {
		return errors.New("give either bearer_file or oauth")
	}
	for name := range r.HeaderFiles {
		if !headerName.MatchString(name) || ours[strings.ToLower(name)] {
			return fmt.Errorf("header_files: %q cannot be set", name)
		}
	}
	if o := r.OAuth; o != nil {
		if o.ClientID == "" || o.SecretFile == "" {
			return errors.New("oauth: client_id and secret_file are needed")
		}
		if err := credential.CheckURL(guard, o.TokenURL, true); err != nil {
			return fmt.Errorf("oauth: token_url: %w", err)
		}
	}
	return nil
}

var (
	headerName = regexp.MustCompile(`^[A-Za-z0-9-]{1,100}$`)
	// ours are headers that belong to the protocol.
	ours = map[string]bool{
		"host": true, "content-length": true, "content-type": true, "accept": true, "transfer-encoding": true, "connection": true,
		"mcp-session-id": true, "mcp-protocol-version": true, "mcp-method": true, "mcp-name": true, "last-event-id": true,
	}
)
