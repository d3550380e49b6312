package console

import (
	"context"
	"sync"

	"sabha.dev/chassis/service"
	adminv1 "sabha.dev/gen/sabha/admin/v1"
	"sabha.dev/services/console/internal/live"
	"sabha.dev/services/console/internal/oversight"
)

// changes that are followed: of a kind in a service, and the pages that they change.
// Questions change with their tasks too.
var changes = []struct {
	service, kind string
	live.Followed
}{
	{planner, "", live.Followed{Lists: []string{"tasks"}, Each: "task:", Whole: true}},
	{review, "items", live.Followed{Lists: []string{"reviews"}, Each: "review:", Whole: true}},
	{review, "discussions", live.Followed{Lists: []string{"questions"}, Whole: true}},
	{review, "", live.Followed{Lists: []string{"questions"}}},
	{edge, "partners", live.Followed{Lists: []string{"partners"}, Each: "partner:", Whole: true}},
}

// follow has pages read at once when what is behind them changes.
func (r *Running) follow(base *service.Base, c Config) error {
	ctx, stop := context.WithCancel(context.Background())
	var followers sync.WaitGroup
	r.closers = append(r.closers, func() { stop(); followers.Wait() })
	for _, f := range changes {
		if len(c.Peers) > 0 && c.Peers[f.service] == "" {
			continue
		}
		conn, err := base.Peer(f.service)
		if err != nil {
			return err
		}
		f.Changes = oversight.Changes(adminv1.NewAdminServiceClient(conn), f.kind)
		followers.Go(func() { r.site.Follow(ctx, f.Followed) })
	}
	return nil
}
