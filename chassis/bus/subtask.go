package bus

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/nats-io/nats.go/jetstream"
	"go.opentelemetry.io/otel/attribute"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/engine"
	"sabha.dev/chassis/ext"
	"sabha.dev/chassis/identity"
	"sabha.dev/chassis/taskstore"
	"sabha.dev/chassis/trace"
	busv1 "sabha.dev/gen/sabha/bus/v1"
)

// subtask is one delegation on its way.
type subtask struct {
	bus         *Bus
	frame       *busv1.Frame
	contentType string
	call        identity.Call
	msg         jetstream.Msg
	deadline    time.Time
}

// checkEvery is how often a running subtask is looked at, and its frame kept.
const checkEvery = 200 * time.Millisecond

// span begins the span of the frame, below that of its sender if the header
// traceparent names one. The trace is that of the frame's trace_id if that is an id
// of W3C, else that of the header, else one that the trace_id is mapped to.
func (s *subtask) span(ctx context.Context) (context.Context, *trace.Span) {
	mapped := traceID(s.frame.GetTraceId())
	place, sent := trace.FromHeaders(s.msg.Headers().Values)
	if !sent || place.TraceID != mapped && mapped == strings.ToLower(s.frame.GetTraceId()) {
		place = trace.Context{TraceID: mapped}
	}
	ctx, span := trace.Start(s.bus.Tracer.At(ctx, place), trace.Consumer, "process "+s.msg.Subject())
	if span != nil {
		span.Set(
			attribute.String("messaging.system", "nats"), attribute.String("messaging.destination.name", s.msg.Subject()),
			attribute.String("messaging.operation.type", "process"), attribute.String("messaging.operation.name", "process"),
			attribute.String("messaging.message.id", s.frame.GetPayload().GetSubtaskId()), attribute.String("sabha.caller", s.call.Actor),
		)
	}
	return ctx, span
}

// run sends the delegation to the agent and reports until the task is settled.
func (s *subtask) run(ctx context.Context) error {
	ctx = identity.WithCall(ctx, s.call)
	md := metadata.Pairs(ext.MetadataVersion, engine.Protocol)
	if ms := s.frame.GetPayload().GetTimeoutMs(); ms > 0 {
		s.deadline = s.sent().Add(time.Duration(ms) * time.Millisecond)
		md.Set(engine.DeadlineHeader, strconv.FormatInt(s.deadline.UnixMilli(), 10))
	}
	ctx = metadata.NewIncomingContext(ctx, md)
	res, err := s.bus.Agent.SendMessage(ctx, &a2apb.SendMessageRequest{
		Message: s.message(), Configuration: &a2apb.SendMessageConfiguration{ReturnImmediately: true},
	})
	if err != nil {
		return err
	}
	if m := res.GetMessage(); m != nil {
		s.reply(ctx, Result, &busv1.Payload{State: a2apb.TaskState_TASK_STATE_COMPLETED.String(), Result: result(m.GetParts())})
		return nil
	}
	return s.follow(ctx, res.GetTask())
}

// sent is when the parent sent the frame: its budget runs from there.
func (s *subtask) sent() time.Time {
	now := s.bus.Clock.Now()
	t, err := time.Parse(time.RFC3339, s.frame.GetTimestampUtc())
	if err != nil || t.After(now) {
		return now
	}
	// A frame that waited in the queue for longer than its budget gets no time at
	// all; one with a time stamp of another era is taken as sent now.
	if now.Sub(t) > 24*time.Hour {
		return now
	}
	return t
}

func (s *subtask) message() *a2apb.Message {
	p := s.frame.GetPayload()
	m := &a2apb.Message{MessageId: p.GetSubtaskId(), Role: a2apb.Role_ROLE_USER}
	if p.GetInstruction() != "" {
		m.Parts = append(m.Parts, agent.Text(p.GetInstruction()))
	}
	if len(p.GetRequiredContext().GetFields()) > 0 {
		m.Parts = append(m.Parts, &a2apb.Part{
			Content: &a2apb.Part_Data{Data: structpb.NewStructValue(p.GetRequiredContext())}, MediaType: "application/json",
		})
	}
	if p.GetSkill() != "" {
		m.Metadata = &structpb.Struct{Fields: map[string]*structpb.Value{ext.Skill: structpb.NewStringValue(p.GetSkill())}}
	}
	return m
}

// follow reports changes of the task's state until it is settled.
func (s *subtask) follow(ctx context.Context, t *a2apb.Task) error {
	var told a2apb.TaskState
	for {
		st := t.GetStatus()
		if taskstore.Terminal(st.GetState()) {
			s.end(ctx, t)
			return nil
		}
		if st.GetState() != told {
			told = st.GetState()
			s.reply(ctx, Status, &busv1.Payload{
				TaskId: t.GetId(), State: told.String(), Instruction: agent.TextOf(st.GetMessage().GetParts()),
			})
		}
		_ = s.msg.InProgress()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.bus.Clock.After(checkEvery):
		}
		next, err := s.bus.Agent.GetTask(ctx, &a2apb.GetTaskRequest{Id: t.GetId(), HistoryLength: new(int32)})
		if err != nil {
			return errors.Join(errFollow, err)
		}
		t = next
	}
}

// errFollow marks trouble in reading a task; the frame is delivered again.
var errFollow = errors.New("the subtask cannot be followed")

func (s *subtask) end(ctx context.Context, t *a2apb.Task) {
	state := t.GetStatus().GetState()
	if state == a2apb.TaskState_TASK_STATE_COMPLETED {
		var parts []*a2apb.Part
		for _, a := range t.GetArtifacts() {
			parts = append(parts, a.GetParts()...)
		}
		parts = append(parts, t.GetStatus().GetMessage().GetParts()...)
		s.reply(ctx, Result, &busv1.Payload{TaskId: t.GetId(), State: state.String(), Result: result(parts)})
		return
	}
	s.reply(ctx, Failure, &busv1.Payload{TaskId: t.GetId(), State: state.String(), Error: &busv1.Error{
		Reason: state.String(), Message: agent.TextOf(t.GetStatus().GetMessage().GetParts()),
	}})
}

func (s *subtask) reply(ctx context.Context, kind string, p *busv1.Payload) {
	p.SubtaskId = s.frame.GetPayload().GetSubtaskId()
	s.bus.reply(ctx, s.frame, s.contentType, kind, p)
}

// result gathers parts as {text, data}: texts joined, data in order.
func result(parts []*a2apb.Part) *structpb.Struct {
	fields := map[string]*structpb.Value{}
	if text := agent.TextOf(parts); text != "" {
		fields["text"] = structpb.NewStringValue(text)
	}
	var data []*structpb.Value
	for _, p := range parts {
		if d := p.GetData(); d != nil {
			data = append(data, d)
		}
	}
	if len(data) > 0 {
		fields["data"] = structpb.NewListValue(&structpb.ListValue{Values: data})
	}
	return &structpb.Struct{Fields: fields}
}
