package engine_test

import (
	"context"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/nats-io/nats.go"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/ext"
	"sabha.dev/chassis/identity"
)

// people is an agent whose task waits for a person until decided is closed.
func people(decided <-chan struct{}) agent.Agent {
	return agent.Agent{Tenant: "people", Skills: []agent.Skill{{ID: "decide", Run: func(ctx context.Context, run agent.Run) (agent.Outcome, error) {
		md := map[string]*structpb.Value{ext.Wait: structpb.NewStructValue(&structpb.Struct{})}
		if err := run.Commit(ctx, agent.Change{Metadata: md, Events: []*a2apb.StreamResponse{{Payload: &a2apb.StreamResponse_StatusUpdate{
			StatusUpdate: &a2apb.TaskStatusUpdateEvent{
				Status: &a2apb.TaskStatus{State: a2apb.TaskState_TASK_STATE_WORKING}, Metadata: &structpb.Struct{Fields: md},
			},
		}}}}); err != nil {
			return agent.Outcome{}, err
		}
		select {
		case <-decided:
			return agent.Completed(), nil
		case <-ctx.Done():
			return agent.Outcome{}, ctx.Err()
		}
	}}}}
}

// asPlanner is a call that a task of the planner makes for alice.
func asPlanner(t *testing.T, task string) context.Context {
	call := identity.Call{Actor: "planner", TaskID: task, RootTaskID: task, Principal: identity.Principal{Subject: "alice", Organisation: "acme"}}
	return metadata.NewIncomingContext(identity.WithCall(t.Context(), call), metadata.Pairs(ext.MetadataVersion, "1.0"))
}

// wakeUps of the planner's tasks.
func (r *rig) wakeUps() <-chan *nats.Msg {
	c := make(chan *nats.Msg, 10)
	conn := r.nats.Connect(r)
	_, err := conn.ChanSubscribe("sabha.wake.planner", c)
	r.must(err)
	r.must(conn.Flush())
	return c
}

func TestServicesDoNotHoldTheLineForPeople(t *testing.T) {
	r := onSQLite(t)
	decided := make(chan struct{})
	p := r.start("one", people(decided))
	wakeUps := r.wakeUps()
	client := p.sending(request("m-client", "decide", "?"))
	res, err := p.SendMessage(asPlanner(t, "parent"), request("m-planner", "decide", "?"))
	r.must(err)
	task := res.GetTask()
	if task.GetStatus().GetState() != a2apb.TaskState_TASK_STATE_WORKING || task.GetMetadata().GetFields()[ext.Wait] == nil {
		t.Fatalf("the planner was given %v", task)
	}
	select {
	case got := <-client:
		t.Fatalf("a client was answered before the decision: %v", got)
	default:
	}
	for len(wakeUps) > 0 { // it may have been woken before it had the answer
		<-wakeUps
	}
	close(decided)
	if got := <-client; got.GetStatus().GetState() != a2apb.TaskState_TASK_STATE_COMPLETED {
		t.Fatalf("the client was given %v", got)
	}
	if m := <-wakeUps; string(m.Data) != "eparent" {
		t.Fatalf("the planner was told %q", m.Data)
	}
}

func TestAParentHearsThatAPersonIsAwaited(t *testing.T) {
	r := onSQLite(t)
	p := r.start("one", people(make(chan struct{})))
	wakeUps := r.wakeUps()
	_, err := p.SendMessage(asPlanner(t, "parent"), atOnce(request("m", "decide", "?")))
	r.must(err)
	if m := <-wakeUps; string(m.Data) != "eparent" {
		t.Fatalf("the planner was told %q", m.Data)
	}
}
