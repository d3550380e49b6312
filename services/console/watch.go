package console

import (
	"context"
	"sync"

	"sabha.dev/chassis/service"
	adminv1 "sabha.dev/gen/sabha/admin/v1"
	"sabha.dev/services/console/internal/live"
	"sabha.dev/services/console/internal/oversight"
)

// changes of a service's tasks, and the pages that they change.
var changes = map[string]live.Followed{
	planner: {Lists: []string{"tasks"}, Each: "task:", Whole: true},
	// Claims are no changes of tasks: those pages are read again and again as well.
	review: {Lists: []string{"reviews", "questions"}, Each: "review:"},
}

// follow has pages read at once when the tasks behind them change.
func (r *Running) follow(base *service.Base, c Config) error {
	ctx, stop := context.WithCancel(context.Background())
	var followers sync.WaitGroup
	r.closers = append(r.closers, func() { stop(); followers.Wait() })
	for name, f := range changes {
		if len(c.Peers) > 0 && c.Peers[name] == "" {
			continue
		}
		conn, err := base.Peer(name)
		if err != nil {
			return err
		}
		f.Changes = oversight.Changes(adminv1.NewAdminServiceClient(conn))
		followers.Go(func() { r.site.Follow(ctx, f) })
	}
	return nil
}
