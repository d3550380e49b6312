package postgrestest

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"

	"github.com/jackc/pgx/v5"

	"sabha.dev/testrig/freeport"
)

// Secured is a server that is reached over TLS on a loopback port, beside the socket
// of its superuser.
type Secured struct {
	*Server
	// Address is host:port.
	Address string
}

// RunSecured starts a server with the certificate of a folder (ca.crt, tls.crt,
// tls.key) and the text of a pg_hba.conf. The superuser must be let in over the
// socket without a password. The caller closes the server.
func RunSecured(certificates, hba string) (*Secured, error) {
	ports, err := freeport.Find(1)
	if err != nil {
		return nil, err
	}
	s, err := run(func(s *Server) error {
		for _, name := range []string{"ca.crt", "tls.crt", "tls.key"} {
			text, err := os.ReadFile(filepath.Join(certificates, name))
			if err != nil {
				return err
			}
			if err := s.give(name, text); err != nil {
				return err
			}
		}
		if err := s.give("pg_hba.conf", []byte(hba)); err != nil {
			return err
		}
		s.settings = []string{
			"listen_addresses=127.0.0.1", "port=" + strconv.Itoa(ports[0]), "hba_file=" + filepath.Join(s.dir, "pg_hba.conf"), "ssl=on",
			"ssl_ca_file=" + filepath.Join(s.dir, "ca.crt"), "ssl_cert_file=" + filepath.Join(s.dir, "tls.crt"), "ssl_key_file=" + filepath.Join(s.dir, "tls.key"),
		}
		s.port = ports[0]
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &Secured{Server: s, Address: net.JoinHostPort("127.0.0.1", strconv.Itoa(ports[0]))}, nil
}

// give writes a file that only the server's user may read.
func (s *Server) give(name string, text []byte) error {
	file := filepath.Join(s.dir, name)
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return err
	}
	attributes, err := unprivileged(s.dir)
	if err != nil || attributes == nil {
		return err
	}
	return os.Chown(file, int(attributes.Credential.Uid), int(attributes.Credential.Gid))
}

// Create makes a database with a name and runs a script in it, as the superuser.
func (s *Server) Create(ctx context.Context, database, script string) error {
	for _, step := range []struct{ in, sql string }{{superuser, "CREATE DATABASE " + pgx.Identifier{database}.Sanitize()}, {database, script}} {
		conn, err := pgx.Connect(ctx, s.url(step.in))
		if err != nil {
			return err
		}
		_, err = conn.Exec(ctx, step.sql)
		_ = conn.Close(ctx)
		if err != nil {
			return fmt.Errorf("in database %s: %w", step.in, err)
		}
	}
	return nil
}
