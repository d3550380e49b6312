package command

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"sabha.dev/chassis/certs"
	"sabha.dev/cmd/sabha/platform"
)

// Names beside the services that get certificates.
const (
	certNATS     = "nats"
	certPostgres = "postgres"
	certOperator = "operator"
)

// natsNodes are the names under which the servers of the shipped cluster find each other.
var natsNodes = []string{"nats-1", "nats-2", "nats-3"}

func (r *run) certs() *cobra.Command {
	var (
		hosts []string
		days  int
	)
	c := &cobra.Command{
		Use: "certs DIR [SERVICE...]", Short: "Issue the certificates with which services identify on the wire",
		Long: `Certs makes an authority and a certificate for every service, for NATS, for PostgreSQL, for
an operator, and for further services that are named:

  DIR/ca.crt, DIR/ca.key                      the authority; keep its key to yourself
  DIR/SERVICE/ca.crt, tls.crt, tls.key        give each service its own folder

A certificate is good for its service's name, localhost, and the hosts that are given. Run it
again to renew: the authority and certificates that are valid for more than 30 days stay.`,
		Example: "  sabha certs certs\n  sabha certs certs --hosts gateway=agents.example.com,postgres=db.internal",
		Args:    folderAndServices,
		RunE: func(_ *cobra.Command, args []string) error {
			if days < 1 {
				return usagef("--days is %d; it must be at least 1", days)
			}
			order := certs.Order{
				Services: withServices(platform.Services, append([]string{certNATS, certPostgres, certOperator}, args[1:]...)),
				Hosts:    map[string][]string{certNATS: slices.Clone(natsNodes)}, Lifetime: time.Duration(days) * 24 * time.Hour,
			}
			for _, h := range hosts {
				service, host, ok := strings.Cut(h, "=")
				if !ok {
					service, host = "", h
				}
				if host == "" || (ok && !slices.Contains(order.Services, service)) {
					return usagef("--hosts %q is neither HOST nor SERVICE=HOST", h)
				}
				order.Hosts[service] = append(order.Hosts[service], host)
			}
			issued, err := certs.Issue(args[0], order, r.Clock.Now())
			if err != nil {
				return err
			}
			return r.issued(args[0], issued)
		},
	}
	c.Flags().StringSliceVar(&hosts, "hosts", nil, "further host names and addresses, as HOST for all or SERVICE=HOST for one")
	c.Flags().IntVar(&days, "days", 365, "how long a new certificate is valid")
	return c
}

// issued shows what a folder has and until when.
func (r *run) issued(dir string, issued []certs.Issued) error {
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "CERTIFICATE\tVALID UNTIL")
	for _, i := range issued {
		file, note := filepath.Join(dir, "ca.crt"), "kept"
		if i.Name != "" {
			file = filepath.Join(dir, i.Name, "tls.crt")
		}
		if i.New {
			note = "new"
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\n", file, i.Until.Format(time.DateOnly), note)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return r.say(strings.TrimRight(table.String(), "\n"))
}
