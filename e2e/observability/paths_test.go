package observability_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/nats-io/nats.go"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/bus"
	"sabha.dev/chassis/clock"
	"sabha.dev/chassis/ext"
	"sabha.dev/chassis/identity"
	"sabha.dev/chassis/service"
	"sabha.dev/chassis/trace"
	"sabha.dev/cmd/sabha/platform"
	"sabha.dev/testrig/otlptest"
)

// has waits until the trace is whole and has all of the spans, given as
// "service/KIND name".
func has(t *testing.T, c *otlptest.Collector, traceID string, wanted ...string) []otlptest.Span {
	t.Helper()
	var spans []otlptest.Span
	await(t, func() error {
		spans = c.Spans(traceID)
		for _, want := range wanted {
			if !slices.ContainsFunc(spans, func(s otlptest.Span) bool { return s.Service+"/"+s.Kind+" "+s.Name == want }) {
				return fmt.Errorf("no span %s in\n%s", want, drawn(spans))
			}
		}
		return dangling(spans)
	})
	return spans
}

func frame(traceID string) string {
	return fmt.Sprintf(`{"trace_id": %q, "parent_agent": "PlannerAgent", "target_agent": "ResearchAgent", "message_type": "DELEGATE_SUBTASK",
		"payload": {"subtask_id": "st-%s", "skill": "investigate", "instruction": %q}}`, traceID, traceID, question)
}

// A frame goes on in the trace that its header names, or in one that its trace_id
// is, and the replies carry it.
func TestAFrameOfTheBusIsPartOfItsTrace(t *testing.T) {
	c := otlptest.New(t)
	r := start(t, func(o *platform.Options) { o.OTLP = c.URL() })
	nc, err := r.p.NATS("parent")
	if err != nil {
		t.Fatal(err)
	}
	token := r.token("planner", "research")
	replies, err := nc.SubscribeSync("kalki.replies.planner")
	if err != nil {
		t.Fatal(err)
	}
	parent := trace.New()
	for name, f := range map[string]struct {
		text    string
		header  string
		traceID string
		below   string
	}{
		"the header beside a foreign id": {frame("request-17"), parent.String(), parent.TraceID, parent.SpanID},
		"an id of W3C without a header":  {frame("4bf92f3577b34da6a3ce929d0e0e4736"), "", "4bf92f3577b34da6a3ce929d0e0e4736", ""},
	} {
		msg := &nats.Msg{Subject: "kalki.agents.research", Data: []byte(f.text), Header: nats.Header{"Content-Type": {bus.JSON}, bus.TokenHeader: {token}}}
		if f.header != "" {
			msg.Header[trace.Header] = []string{f.header}
		}
		if err := nc.PublishMsg(msg); err != nil {
			t.Fatal(err)
		}
		for {
			reply, err := replies.NextMsg(patience)
			if err != nil {
				t.Fatal(err)
			}
			if place, ok := trace.FromHeaders(reply.Header.Values); !ok || place.TraceID != f.traceID {
				t.Errorf("%s: a reply has the header %q", name, reply.Header[trace.Header])
			}
			if strings.Contains(string(reply.Data), bus.Result) {
				break
			}
		}
		spans := has(t, c, f.traceID, "research/CONSUMER process kalki.agents.research", "research/INTERNAL run research/investigate",
			"research/CLIENT lf.a2a.v1.A2AService/SendMessage", "security/SERVER lf.a2a.v1.A2AService/SendMessage")
		if root := connected(t, spans, f.below); root.Kind != "CONSUMER" {
			t.Errorf("%s: the first span is %+v", name, root)
		}
	}
}

func (r *rig) token(by, audience string) string {
	r.t.Helper()
	signer := func(name string) *identity.Signer {
		key, err := identity.LoadKey(filepath.Join(r.Data, "keys", name+".key"))
		if err != nil {
			r.t.Fatal(err)
		}
		s, err := identity.NewSigner(name, key, clock.System{})
		if err != nil {
			r.t.Fatal(err)
		}
		return s
	}
	grant, err := signer(identity.Gateway).Grant(identity.Principal{Subject: "asha"})
	if err != nil {
		r.t.Fatal(err)
	}
	token, err := signer(by).Token(audience, identity.Call{Grant: grant})
	if err != nil {
		r.t.Fatal(err)
	}
	return token
}

const gated = `playbook: gated
version: 1
description: A step that waits.
steps:
  - {id: wait, agent: scribe, skill: do}
output: {text: "= steps.wait.output.text"}
`

// A plan that was interrupted by a restart goes on in the same trace: both runs
// stand below the call of the gateway that asked for it.
func TestAPlanKeepsItsTraceOverARestart(t *testing.T) {
	c := otlptest.New(t)
	books := t.TempDir()
	if err := os.WriteFile(filepath.Join(books, "gated.yaml"), []byte(gated), 0o600); err != nil {
		t.Fatal(err)
	}
	begun, gate := make(chan struct{}, 4), make(chan struct{})
	scribe := service.Definition{Name: "scribe", Build: func(context.Context, *service.Base) (*service.Persona, error) {
		return &service.Persona{Unscreened: true, Agent: agent.Agent{Tenant: "scribe", Name: "Scribe", Version: "1", Skills: []agent.Skill{{
			ID: "do", Run: func(ctx context.Context, _ agent.Run) (agent.Outcome, error) {
				begun <- struct{}{}
				select {
				case <-gate:
					return agent.Completed(agent.Text("done")), nil
				case <-ctx.Done():
					return agent.Outcome{}, ctx.Err()
				}
			},
		}}}}, nil
	}}
	r := start(t, func(o *platform.Options) {
		o.OTLP, o.Docs, o.Playbooks = c.URL(), "", books
		o.Agents, o.Extra = map[string][]string{"scribe": {"do"}}, []service.Definition{scribe}
	})
	client := trace.New()
	m := ask("go")
	m.Message.Metadata = &structpb.Struct{Fields: map[string]*structpb.Value{ext.Playbook: structpb.NewStringValue("gated")}}
	m.Configuration = &a2apb.SendMessageConfiguration{ReturnImmediately: true}
	res, err := r.a2a().SendMessage(metadata.AppendToOutgoingContext(r.ctx(), "traceparent", client.String()), m)
	if err != nil {
		t.Fatal(err)
	}
	<-begun
	r.down()
	close(gate)
	r.up()
	await(t, func() error {
		task, err := r.a2a().GetTask(r.ctx(), &a2apb.GetTaskRequest{Id: res.GetTask().GetId()})
		if err == nil && task.GetStatus().GetState() != a2apb.TaskState_TASK_STATE_COMPLETED {
			err = fmt.Errorf("%v", task)
		}
		return err
	})
	var runs []otlptest.Span
	await(t, func() error {
		runs = slices.DeleteFunc(c.Spans(client.TraceID), func(s otlptest.Span) bool { return s.Name != "run planner/plan-and-run" })
		if len(runs) < 2 || runs[len(runs)-1].Attributes["sabha.outcome"] != "TASK_STATE_COMPLETED" {
			return fmt.Errorf("runs %v", runs)
		}
		return dangling(c.Spans(client.TraceID))
	})
	for _, s := range runs {
		if s.ParentID != runs[0].ParentID || s.Attributes["sabha.task.id"] != res.GetTask().GetId() {
			t.Errorf("a run is %+v, the first was %+v", s, runs[0])
		}
	}
	t.Log("\n" + drawn(c.Spans(client.TraceID)))
}

// A webhook hears of its task within the task's trace.
func TestAWebhookIsPartOfTheTrace(t *testing.T) {
	c := otlptest.New(t)
	heard := make(chan string, 100)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) { heard <- req.Header.Get("Traceparent") }))
	defer receiver.Close()
	r := start(t, func(o *platform.Options) { o.OTLP, o.PushAllow = c.URL(), []string{"127.0.0.0/8"} })
	client := trace.New()
	m := ask(question)
	m.Configuration = &a2apb.SendMessageConfiguration{TaskPushNotificationConfig: &a2apb.TaskPushNotificationConfig{Url: receiver.URL}}
	if _, err := r.a2a().SendMessage(metadata.AppendToOutgoingContext(r.ctx(), "traceparent", client.String()), m); err != nil {
		t.Fatal(err)
	}
	sent, ok := trace.Parse(<-heard)
	if !ok || sent.TraceID != client.TraceID {
		t.Errorf("the webhook hears %+v", sent)
	}
	spans := has(t, c, client.TraceID, "planner/CLIENT POST")
	if !slices.ContainsFunc(spans, func(s otlptest.Span) bool {
		return s.SpanID == sent.SpanID && s.Name == "POST" && s.Attributes["sabha.outcome"] == "delivered"
	}) {
		t.Errorf("no span of the delivery that the webhook heard of:\n%s", drawn(spans))
	}
}
