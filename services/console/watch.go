package console

import (
	"context"
	"sync"

	"google.golang.org/grpc"

	"sabha.dev/chassis/service"
	adminv1 "sabha.dev/gen/sabha/admin/v1"
	reviewv1 "sabha.dev/gen/sabha/review/v1"
	"sabha.dev/services/console/internal/desk"
	"sabha.dev/services/console/internal/live"
	"sabha.dev/services/console/internal/oversight"
)

// followed is what a service tells of, and the pages that it changes.
type followed struct {
	service string
	changes func(grpc.ClientConnInterface) live.Changes
	live.Followed
}

// changes that are followed. Replies and acknowledgements are no changes of tasks: pages
// of questions are read again and again as well.
var changes = []followed{
	{planner, tasks, live.Followed{Lists: []string{"tasks"}, Each: "task:", Whole: true}},
	{review, items, live.Followed{Lists: []string{"reviews"}, Each: "review:", Whole: true}},
	{review, tasks, live.Followed{Lists: []string{"questions"}}},
}

func tasks(conn grpc.ClientConnInterface) live.Changes {
	return oversight.Changes(adminv1.NewAdminServiceClient(conn))
}

func items(conn grpc.ClientConnInterface) live.Changes {
	return desk.Changes(reviewv1.NewReviewServiceClient(conn))
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
		f.Changes = f.changes(conn)
		followers.Go(func() { r.site.Follow(ctx, f.Followed) })
	}
	return nil
}
