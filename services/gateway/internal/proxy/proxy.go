// Package proxy passes A2A calls on to the persona that their tenant names.
package proxy

import (
	"context"
	"errors"
	"io"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/emptypb"

	"sabha.dev/chassis/ext"
	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/identity"
)

// Front is the tenant of the agent at the root.
const Front = ""

// Cards completes the card that an agent gives of itself.
type Cards interface {
	Complete(tenant string, card *a2apb.AgentCard) *a2apb.AgentCard
}

// Proxy is the A2A service of every agent that may be called from outside. Calls
// reach it with a verified caller in their context.
type Proxy struct {
	a2apb.UnimplementedA2AServiceServer
	agents map[string]a2apb.A2AServiceClient
	cards  Cards

	// streams ends when open streams must, calls when all calls must.
	streams, calls       context.Context
	endStreams, endCalls context.CancelCauseFunc
}

// New makes a proxy to agents by tenant; Front is the one at the root.
func New(agents map[string]grpc.ClientConnInterface, cards Cards) *Proxy {
	p := &Proxy{agents: map[string]a2apb.A2AServiceClient{}, cards: cards}
	for tenant, conn := range agents {
		p.agents[tenant] = a2apb.NewA2AServiceClient(conn)
	}
	p.streams, p.endStreams = context.WithCancelCause(context.Background())
	p.calls, p.endCalls = context.WithCancelCause(context.Background())
	return p
}

var errDraining = fault.New(fault.Unavailable, "the gateway is stopping; tasks go on, ask again for them")

// EndStreams ends open streams with UNAVAILABLE; other calls are still answered.
func (p *Proxy) EndStreams() { p.endStreams(errDraining) }

// EndCalls ends what is still waiting for an agent with UNAVAILABLE.
func (p *Proxy) EndCalls() { p.endCalls(errDraining) }

func (p *Proxy) agent(tenant string) (a2apb.A2AServiceClient, error) {
	a, ok := p.agents[tenant]
	if !ok {
		return nil, fault.New(fault.UnknownTenant, "there is no agent %q here", tenant)
	}
	return a, nil
}

// outgoing is the context of a call to an agent: the caller, the service
// parameters of A2A, and nothing else of what came in. It ends with either of
// the two contexts.
func outgoing(ctx, end context.Context) (context.Context, context.CancelFunc, error) {
	call, ok := identity.CallOf(ctx)
	if !ok {
		return nil, nil, fault.New(fault.Unauthenticated, "the call carries no identity")
	}
	in, _ := metadata.FromIncomingContext(ctx)
	out := metadata.MD{}
	for _, name := range []string{ext.MetadataVersion, ext.MetadataExtensions, ext.MetadataCursor, ext.MetadataClientVersion, ext.MetadataConfirm, ext.MetadataIntegrity} {
		if v := in.Get(name); len(v) > 0 {
			out[name] = v
		}
	}
	ctx, cancel := context.WithCancelCause(identity.WithOutgoing(metadata.NewOutgoingContext(ctx, out), call))
	forget := context.AfterFunc(end, func() { cancel(context.Cause(end)) })
	return ctx, func() { forget(); cancel(nil) }, nil
}

type request interface{ GetTenant() string }

// unary passes one call on.
func unary[Q request, R any](ctx context.Context, p *Proxy, q Q, call func(a2apb.A2AServiceClient, context.Context, Q, ...grpc.CallOption) (R, error)) (R, error) {
	var none R
	agent, err := p.agent(q.GetTenant())
	if err != nil {
		return none, err
	}
	ctx, end, err := outgoing(ctx, p.calls)
	if err != nil {
		return none, err
	}
	defer end()
	answer, err := call(agent, ctx, q)
	if err != nil {
		return none, visible(ctx, err)
	}
	return answer, nil
}

// stream passes events on one by one: the next is read when the last was taken.
func stream[Q request](p *Proxy, q Q, out grpc.ServerStreamingServer[a2apb.StreamResponse],
	open func(a2apb.A2AServiceClient, context.Context, Q, ...grpc.CallOption) (grpc.ServerStreamingClient[a2apb.StreamResponse], error),
) error {
	agent, err := p.agent(q.GetTenant())
	if err != nil {
		return err
	}
	ctx, end, err := outgoing(out.Context(), p.streams)
	if err != nil {
		return err
	}
	defer end()
	in, err := open(agent, ctx, q)
	if err != nil {
		return visible(ctx, err)
	}
	for {
		event, err := in.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return visible(ctx, err)
		}
		if err := out.Send(event); err != nil {
			return err
		}
	}
}

// SendMessage passes the call on.
func (p *Proxy) SendMessage(ctx context.Context, q *a2apb.SendMessageRequest) (*a2apb.SendMessageResponse, error) {
	return unary(ctx, p, q, a2apb.A2AServiceClient.SendMessage)
}

// SendStreamingMessage passes the call and its events on.
func (p *Proxy) SendStreamingMessage(q *a2apb.SendMessageRequest, out grpc.ServerStreamingServer[a2apb.StreamResponse]) error {
	return stream(p, q, out, a2apb.A2AServiceClient.SendStreamingMessage)
}

// GetTask passes the call on.
func (p *Proxy) GetTask(ctx context.Context, q *a2apb.GetTaskRequest) (*a2apb.Task, error) {
	return unary(ctx, p, q, a2apb.A2AServiceClient.GetTask)
}

// ListTasks passes the call on.
func (p *Proxy) ListTasks(ctx context.Context, q *a2apb.ListTasksRequest) (*a2apb.ListTasksResponse, error) {
	return unary(ctx, p, q, a2apb.A2AServiceClient.ListTasks)
}

// CancelTask passes the call on.
func (p *Proxy) CancelTask(ctx context.Context, q *a2apb.CancelTaskRequest) (*a2apb.Task, error) {
	return unary(ctx, p, q, a2apb.A2AServiceClient.CancelTask)
}

// SubscribeToTask passes the call and its events on.
func (p *Proxy) SubscribeToTask(q *a2apb.SubscribeToTaskRequest, out grpc.ServerStreamingServer[a2apb.StreamResponse]) error {
	return stream(p, q, out, a2apb.A2AServiceClient.SubscribeToTask)
}

// CreateTaskPushNotificationConfig passes the call on.
func (p *Proxy) CreateTaskPushNotificationConfig(ctx context.Context, q *a2apb.TaskPushNotificationConfig) (*a2apb.TaskPushNotificationConfig, error) {
	return unary(ctx, p, q, a2apb.A2AServiceClient.CreateTaskPushNotificationConfig)
}

// GetTaskPushNotificationConfig passes the call on.
func (p *Proxy) GetTaskPushNotificationConfig(ctx context.Context, q *a2apb.GetTaskPushNotificationConfigRequest) (*a2apb.TaskPushNotificationConfig, error) {
	return unary(ctx, p, q, a2apb.A2AServiceClient.GetTaskPushNotificationConfig)
}

// ListTaskPushNotificationConfigs passes the call on.
func (p *Proxy) ListTaskPushNotificationConfigs(ctx context.Context, q *a2apb.ListTaskPushNotificationConfigsRequest) (*a2apb.ListTaskPushNotificationConfigsResponse, error) {
	return unary(ctx, p, q, a2apb.A2AServiceClient.ListTaskPushNotificationConfigs)
}

// DeleteTaskPushNotificationConfig passes the call on.
func (p *Proxy) DeleteTaskPushNotificationConfig(ctx context.Context, q *a2apb.DeleteTaskPushNotificationConfigRequest) (*emptypb.Empty, error) {
	return unary(ctx, p, q, a2apb.A2AServiceClient.DeleteTaskPushNotificationConfig)
}

// GetExtendedAgentCard passes the call on and completes the card as the public one is.
func (p *Proxy) GetExtendedAgentCard(ctx context.Context, q *a2apb.GetExtendedAgentCardRequest) (*a2apb.AgentCard, error) {
	card, err := unary(ctx, p, q, a2apb.A2AServiceClient.GetExtendedAgentCard)
	if err != nil {
		return nil, err
	}
	return p.cards.Complete(q.GetTenant(), card), nil
}
