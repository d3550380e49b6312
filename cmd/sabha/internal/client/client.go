// Package client speaks A2A 1.0 with a running platform. It reads the agent
// card, takes its GRPC interface, and calls the generated stubs: that way the
// reasons and field violations of errors arrive whole, and an interrupted
// stream can be resumed from its cursor.
package client

import (
	"context"
	"crypto/x509"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"sabha.dev/chassis/clock"
	"sabha.dev/chassis/ext"
	adminv1 "sabha.dev/gen/sabha/admin/v1"
	plannerv1 "sabha.dev/gen/sabha/planner/v1"
	reviewv1 "sabha.dev/gen/sabha/review/v1"
)

// ProtocolVersion is the A2A version that is spoken.
const ProtocolVersion = "1.0"

// Limits of a call.
const (
	callTimeout  = 30 * time.Second
	messageLimit = 64 << 20 // bytes, of an answer
)

// Client calls one platform. It is safe for concurrent use.
type Client struct {
	server   *url.URL
	key      string
	target   target
	tenant   string
	conn     *grpc.ClientConn
	agent    a2apb.A2AServiceClient
	overseer adminv1.AdminServiceClient
	plans    plannerv1.PlannerServiceClient
	reviews  reviewv1.ReviewServiceClient
	clock    clock.Clock
	notice   func(string)
}

// Options of Dial.
type Options struct {
	// Server is the base address of the platform's HTTP port.
	Server *url.URL
	// Key is the API key; empty calls anonymously.
	Key string
	// Authorities are trusted over TLS; nil means those of the system.
	Authorities *x509.CertPool
	Clock       clock.Clock
	// Notice is told in a sentence when a stream was lost and is taken up again.
	Notice func(string)
}

// Dial reads the card of the server and prepares calls to its GRPC interface.
func Dial(ctx context.Context, o Options) (*Client, error) {
	fetched, err := Fetch(ctx, o.Server, o.Authorities)
	if err != nil {
		return nil, err
	}
	card := &a2apb.AgentCard{}
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(fetched.Body, card); err != nil {
		return nil, fmt.Errorf("%s is not an A2A 1.0 agent card; see what is wrong with: sabha card %s", fetched.URL, o.Server)
	}
	i := grpcInterface(card)
	if i == nil {
		return nil, fmt.Errorf("the agent at %s offers no gRPC interface of A2A 1.0, which this program speaks", o.Server)
	}
	t, err := parseTarget(i.GetUrl(), o.Server)
	if err != nil {
		return nil, err
	}
	transport := insecure.NewCredentials()
	if t.tls {
		transport = credentials.NewTLS(trusting(o.Authorities))
	}
	conn, err := grpc.NewClient(t.address, grpc.WithTransportCredentials(transport), grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(messageLimit)))
	if err != nil {
		return nil, &Unreachable{Address: t.address, Advertised: true, Server: o.Server.String(), Err: err}
	}
	return &Client{
		server: o.Server, key: o.Key, target: t, tenant: i.GetTenant(), conn: conn,
		agent: a2apb.NewA2AServiceClient(conn), overseer: adminv1.NewAdminServiceClient(conn),
		plans: plannerv1.NewPlannerServiceClient(conn), reviews: reviewv1.NewReviewServiceClient(conn), clock: o.Clock, notice: o.Notice,
	}, nil
}

// grpcInterface is the first interface of the card that is gRPC of A2A 1.x.
func grpcInterface(card *a2apb.AgentCard) *a2apb.AgentInterface {
	for _, i := range card.GetSupportedInterfaces() {
		major, _, _ := strings.Cut(i.GetProtocolVersion(), ".")
		if strings.EqualFold(i.GetProtocolBinding(), "GRPC") && major == "1" {
			return i
		}
	}
	return nil
}

// Close ends all calls.
func (c *Client) Close() error { return c.conn.Close() }

// Get reads a task with its whole history and all artifacts.
func (c *Client) Get(ctx context.Context, id string) (*a2apb.Task, error) {
	ctx, cancel := c.call(ctx)
	defer cancel()
	t, err := c.agent.GetTask(ctx, &a2apb.GetTaskRequest{Tenant: c.tenant, Id: id})
	return t, c.fault(err)
}

// Cancel asks for a task to be stopped and gives its state after that.
func (c *Client) Cancel(ctx context.Context, id string) (*a2apb.Task, error) {
	ctx, cancel := c.call(ctx)
	defer cancel()
	t, err := c.agent.CancelTask(ctx, &a2apb.CancelTaskRequest{Tenant: c.tenant, Id: id})
	return t, c.fault(err)
}

// pageSize is the most that a page may hold (specification 3.1.4).
const pageSize = 100

// List gives the newest tasks of the caller, at most limit, and how many there
// are in all. The unspecified state means every state.
func (c *Client) List(ctx context.Context, state a2apb.TaskState, limit int) ([]*a2apb.Task, int, error) {
	ctx, cancel := c.call(ctx)
	defer cancel()
	var (
		list  []*a2apb.Task
		total int
		token string
	)
	for len(list) < limit {
		size := int32(min(pageSize, limit-len(list)))
		page, err := c.agent.ListTasks(ctx, &a2apb.ListTasksRequest{Tenant: c.tenant, Status: state, PageSize: proto.Int32(size), PageToken: token})
		if err != nil {
			return nil, 0, c.fault(err)
		}
		list, total, token = append(list, page.GetTasks()...), int(page.GetTotalSize()), page.GetNextPageToken()
		if token == "" {
			break
		}
	}
	return list, total, nil
}

// Hops gives the audited calls of the request that a task belongs to.
func (c *Client) Hops(ctx context.Context, taskID string) ([]*adminv1.Hop, error) {
	ctx, cancel := c.call(ctx)
	defer cancel()
	res, err := c.overseer.ListHops(ctx, &adminv1.ListHopsRequest{TaskId: taskID})
	return res.GetHops(), c.fault(err)
}

// DeadPushes gives the push configurations that were given up, at most a page of
// each service, the newest first. An empty service means all.
func (c *Client) DeadPushes(ctx context.Context, service string) ([]*adminv1.DeadPush, error) {
	ctx, cancel := c.call(ctx)
	defer cancel()
	res, err := c.overseer.ListDeadPushes(ctx, &adminv1.ListDeadPushesRequest{Service: service, PageSize: pageSize})
	return res.GetPushes(), c.fault(err)
}

// Resend enables a push configuration again and sends what is due.
func (c *Client) Resend(ctx context.Context, p *adminv1.DeadPush) error {
	ctx, cancel := c.call(ctx)
	defer cancel()
	_, err := c.overseer.ResendPush(ctx, &adminv1.ResendPushRequest{Service: p.GetService(), TaskId: p.GetTaskId(), ConfigId: p.GetConfigId()})
	return c.fault(err)
}

// Retry has a step that waits for its next try run now.
func (c *Client) Retry(ctx context.Context, taskID, step string) error {
	ctx, cancel := c.call(ctx)
	defer cancel()
	_, err := c.plans.RetryStep(ctx, &plannerv1.RetryStepRequest{TaskId: taskID, Step: step})
	return c.fault(err)
}

// Fork begins an ended task again at a step and gives the new task's id.
func (c *Client) Fork(ctx context.Context, taskID, step string) (string, error) {
	ctx, cancel := c.call(ctx)
	defer cancel()
	res, err := c.plans.ForkPlan(ctx, &plannerv1.ForkPlanRequest{TaskId: taskID, Step: step})
	return res.GetTaskId(), c.fault(err)
}

// call bounds a single answer; streams take as long as their task.
func (c *Client) call(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(c.outgoing(ctx), callTimeout)
}

func (c *Client) outgoing(ctx context.Context, more ...string) context.Context {
	pairs := append([]string{ext.MetadataVersion, ProtocolVersion}, more...)
	if c.key != "" {
		pairs = append(pairs, "x-api-key", c.key)
	}
	return metadata.AppendToOutgoingContext(ctx, pairs...)
}

// fault tells a server that does not answer from one that answers UNAVAILABLE:
// only an answer has details.
func (c *Client) fault(err error) error {
	if s, ok := status.FromError(err); ok && s.Code() == codes.Unavailable && len(s.Details()) == 0 {
		return &Unreachable{Address: c.target.address, Advertised: true, Server: c.server.String(), Err: fmt.Errorf("%s", s.Message())}
	}
	return err
}
