package console

import (
	"sabha.dev/chassis/service"
	"sabha.dev/services/console/internal/partners"
)

// edge is the service that speaks with agents of other organisations.
const edge = "partners"

// openPartners serves the pages of partners where there is a partners service.
func (r *Running) openPartners(base *service.Base, c Config) error {
	if len(c.Peers) > 0 && c.Peers[edge] == "" {
		return nil
	}
	conn, err := base.Peer(edge)
	if err != nil {
		return err
	}
	r.site.OpenPartners(partners.New(conn, base.Log))
	return nil
}
