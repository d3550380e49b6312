package console

import (
	"google.golang.org/grpc"

	"sabha.dev/chassis/service"
	"sabha.dev/services/console/internal/agents"
)

// openAgents serves the pages of the agents that record calls.
func (r *Running) openAgents(base *service.Base, c Config) error {
	conns := map[string]grpc.ClientConnInterface{}
	for _, name := range c.overseen() {
		conn, err := base.Peer(name)
		if err != nil {
			return err
		}
		conns[name] = conn
	}
	r.site.OpenAgents(agents.New(conns, base.Clock, base.Log))
	return nil
}
