package service

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"sabha.dev/chassis/certs"
)

// natsName is what the certificate of a NATS server must name.
const natsName = "nats"

// connectNATS connects to servers (URLs separated by commas). With a folder of
// certificates the connection is mutual TLS under the platform's authority. The
// query credentials=FILE of a URL names a file of credentials instead (NATS JWT
// and key), for servers of somebody else; tls:// then goes by the system's authorities.
// Answers come to an inbox of the service's own name, which permissions can tell
// from those of others.
func connectNATS(name, servers string, folder *certs.Folder, log *slog.Logger) (*nats.Conn, error) {
	opts := append(natsOptions(name, log), nats.CustomInboxPrefix("_INBOX."+name))
	var addresses []string
	credentials := ""
	for s := range strings.SplitSeq(servers, ",") {
		address, query, _ := strings.Cut(strings.TrimSpace(s), "?")
		q, err := url.ParseQuery(query)
		if err != nil {
			return nil, errors.New("nats: what follows the question mark cannot be read; want credentials=FILE")
		}
		for key := range q {
			if key != "credentials" {
				return nil, fmt.Errorf("nats: %q is not known in a URL; want credentials=FILE", key)
			}
			credentials = q.Get(key)
		}
		addresses = append(addresses, address)
	}
	switch {
	case credentials != "":
		opts = append(opts, nats.UserCredentials(credentials))
	case folder != nil:
		opts = append(opts, nats.Secure(&tls.Config{MinVersion: tls.VersionTLS13, ServerName: natsName}), nats.ClientTLSConfig(folder.Certificate, folder.Authorities))
	}
	nc, err := nats.Connect(strings.Join(addresses, ","), opts...)
	if err != nil {
		return nil, fmt.Errorf("%s cannot use NATS: %w", name, err)
	}
	return nc, nil
}

// natsOptions never give a connection up. A server that does not answer is left
// after three pings, within half a minute, and the next one is tried.
func natsOptions(name string, log *slog.Logger) []nats.Option {
	return []nats.Option{
		nats.Name(name), nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1), nats.ReconnectWait(500 * time.Millisecond),
		nats.PingInterval(10 * time.Second), nats.MaxPingsOutstanding(2),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				log.Warn("the connection to NATS is lost; events wait until it is back", "error", err)
			}
		}),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			log.Error("NATS refuses something, or a subscription falls behind", "error", err)
		}),
		nats.ReconnectHandler(func(nc *nats.Conn) { log.Info("connected to NATS again", "server", nc.ConnectedUrlRedacted()) }),
	}
}
