package replicas

import (
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"sabha.dev/chassis/eventlog"
	"sabha.dev/testrig/natstest"
)

// The server that leads the event log is lost in the middle of tasks: readers of
// every node see every event once.
func TestTheLossOfTheNATSLeaderIsNotSeen(t *testing.T) {
	cluster := natstest.NewCluster(t)
	f := newFleet(t, 2, cluster.URL(), sqlite(t)).up()
	js, err := jetstream.New(cluster.Connect(t))
	f.must(err)
	stream, err := js.Stream(t.Context(), eventlog.Stream)
	f.must(err)
	leader := stream.CachedInfo().Cluster.Leader
	before := len(executions(f.dir))
	var watches []*watch
	for n := range f.nodes {
		id := f.send(f.client(n, "grpc"), atOnce(told(count))).GetId()
		for m := range f.nodes {
			watches = append(watches, f.subscribe(f.client(m, bindings[len(watches)%3]), workerName, id))
		}
	}
	f.soon("the tasks run", func() bool { return len(executions(f.dir)) >= before+len(f.nodes) })
	for _, s := range cluster.Servers {
		if s.Name() == leader {
			s.Stop()
		}
	}
	for i, w := range watches {
		if got := w.seen(); got != "COMPLETED" {
			t.Errorf("subscriber %d saw %s", i, got)
		}
	}
	// The log has them all, for whoever asks later.
	id := f.send(f.client(0, "rest"), told(count)).GetId()
	late := f.followAfter("1.1", f.client(1, "rest"), workerName, id)
	if got := late.seen(); got != "COMPLETED" || len(late.events) != pieces+2 {
		t.Errorf("from its beginning: %s, %d events", got, len(late.events))
	}
}
