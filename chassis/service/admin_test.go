package service_test

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/clock"
	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/identity"
	"sabha.dev/chassis/service"
	adminv1 "sabha.dev/gen/sabha/admin/v1"
	"sabha.dev/testrig/natstest"
)

// office is a service whose tasks are held until they are canceled, with the edges
// through which people look at it.
type office struct {
	*testing.T
	tasks a2apb.A2AServiceClient
	admin map[string]adminv1.AdminServiceClient // by the edge
	grant map[string]string                     // by the person
}

func holds(_ context.Context, _ *service.Base) (*service.Persona, error) {
	return &service.Persona{Unscreened: true, Agent: agent.Agent{
		Tenant: "echo", Name: "Echo", Version: "1",
		Skills: []agent.Skill{
			{ID: "hold", Run: func(ctx context.Context, run agent.Run) (agent.Outcome, error) {
				if err := run.Artifact(&a2apb.Artifact{Name: "echo", Parts: []*a2apb.Part{agent.Text("so far")}}); err != nil {
					return agent.Outcome{}, err
				}
				if err := run.Working(agent.Message(agent.Text("holding"))); err != nil {
					return agent.Outcome{}, err
				}
				<-ctx.Done()
				return agent.Outcome{}, ctx.Err()
			}},
			{ID: "fail", Run: func(context.Context, agent.Run) (agent.Outcome, error) { return agent.Failed(agent.Text("no")), nil }},
		},
	}}, nil
}

func openOffice(t *testing.T) *office {
	o := &office{T: t, admin: map[string]adminv1.AdminServiceClient{}, grant: map[string]string{}}
	ring, private := keys(t, "echo", identity.Gateway, identity.Console)
	nats := natstest.New(t)
	network := service.NewMemory()
	env := func(name string) service.Env {
		return service.Env{
			Clock: clock.System{}, Log: slog.New(slog.NewTextHandler(t.Output(), nil)), NATS: nats.Connect(t), Keys: ring, Key: private[name],
			Network: network, Exclusive: true,
		}
	}
	r, err := service.Start(t.Context(), service.Definition{
		Name: "echo", Config: service.Config{Database: "sqlite:" + filepath.Join(t.TempDir(), "echo.db")}, Build: holds,
	}, env("echo"))
	o.must(err)
	t.Cleanup(func() { o.must(r.Stop(context.Background())) })
	for _, edge := range []string{identity.Gateway, identity.Console} {
		base, done, err := service.OpenBase(t.Context(), service.Definition{Name: edge}, env(edge))
		o.must(err)
		t.Cleanup(done)
		conn, err := base.Peer("echo")
		o.must(err)
		o.admin[edge] = adminv1.NewAdminServiceClient(conn)
		if edge == identity.Gateway {
			o.tasks = a2apb.NewA2AServiceClient(conn)
		}
	}
	gateway, err := identity.NewSigner(identity.Gateway, private[identity.Gateway], clock.System{})
	o.must(err)
	for _, p := range []identity.Principal{
		{Subject: "alice", Organisation: "acme"},
		{Subject: "olga", Organisation: "ops", Scopes: []string{identity.Operator}},
		{Subject: "vera", Organisation: "ops", Scopes: []string{identity.Viewer}},
	} {
		o.grant[p.Subject], err = gateway.Grant(p)
		o.must(err)
	}
	return o
}

func (o *office) must(err error) {
	o.Helper()
	if err != nil {
		o.Fatal(err)
	}
}

func (o *office) by(person string) context.Context {
	ctx := identity.WithOutgoing(o.Context(), identity.Call{Grant: o.grant[person]})
	return metadata.AppendToOutgoingContext(ctx, "a2a-version", "1.0")
}

// ask starts a task of alice and returns when it holds or has ended.
func (o *office) ask(id, text, skillID string) string {
	o.Helper()
	req := message(id, text)
	req.Message.Metadata = skill(skillID)
	req.Configuration = &a2apb.SendMessageConfiguration{ReturnImmediately: true}
	res, err := o.tasks.SendMessage(o.by("alice"), req)
	o.must(err)
	for limit := time.Now().Add(time.Minute); ; time.Sleep(2 * time.Millisecond) {
		task, err := o.admin[identity.Gateway].GetTask(o.by("vera"), &adminv1.GetTaskRequest{TaskId: res.GetTask().GetId()})
		o.must(err)
		if task.GetSummary().GetNote() != "" {
			return res.GetTask().GetId()
		}
		if time.Now().After(limit) {
			o.Fatalf("the task never came to hold: %v", task.GetSummary())
		}
	}
}

func TestATaskOfAnyCallerIsReadWhole(t *testing.T) {
	o := openOffice(t)
	id := o.ask("m1", "what now?", "hold")
	res, err := o.admin[identity.Console].GetTask(o.by("vera"), &adminv1.GetTaskRequest{TaskId: id})
	o.must(err)
	task := &a2apb.Task{}
	o.must(proto.Unmarshal(res.GetTask(), task))
	if res.GetSummary().GetPrincipal() != "acme/alice" || res.GetSummary().GetRequest() != "what now?" || task.GetId() != id ||
		len(task.GetHistory()) != 1 || agent.TextOf(task.GetArtifacts()[0].GetParts()) != "so far" {
		t.Errorf("summary %v, task %v", res.GetSummary(), task)
	}
	for _, missing := range []string{"nothing", "nul\x00"} {
		if _, err := o.admin[identity.Console].GetTask(o.by("vera"), &adminv1.GetTaskRequest{TaskId: missing}); fault.FromStatus(err).Reason != fault.TaskNotFound {
			t.Errorf("%q: %v, want TASK_NOT_FOUND", missing, err)
		}
	}
	if _, err := o.admin[identity.Gateway].GetTask(o.by("alice"), &adminv1.GetTaskRequest{TaskId: id}); fault.FromStatus(err).Reason != fault.PermissionDenied {
		t.Errorf("by the client herself: %v, want PERMISSION_DENIED", err)
	}
}

func TestEventsAreListedByPages(t *testing.T) {
	o := openOffice(t)
	id := o.ask("m1", "hello", "hold")
	admin, ctx := o.admin[identity.Gateway], o.by("vera")
	var all *adminv1.ListEventsResponse
	for limit := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) { // they follow the commit
		var err error
		all, err = admin.ListEvents(ctx, &adminv1.ListEventsRequest{TaskId: id})
		o.must(err)
		if n := len(all.GetEvents()); n > 0 && all.GetEvents()[n-1].GetVersion() == all.GetNewest() {
			break
		}
		if time.Now().After(limit) {
			t.Fatalf("the log never held the newest event: %v", all)
		}
	}
	kinds := ""
	for i, ev := range all.GetEvents() {
		r := &a2apb.StreamResponse{}
		o.must(proto.Unmarshal(ev.GetStreamResponse(), r))
		kinds += fmt.Sprintf("%T ", r.GetPayload())[len("*a2apb.StreamResponse_"):]
		if ev.GetVersion() != int64(i+1) || time.Since(ev.GetAt().AsTime()) > time.Hour {
			t.Errorf("event %d has version %d of %v", i, ev.GetVersion(), ev.GetAt().AsTime())
		}
	}
	if kinds != "Task StatusUpdate ArtifactUpdate StatusUpdate " || all.GetMore() {
		t.Errorf("events %s, more %v", kinds, all.GetMore())
	}
	page, err := admin.ListEvents(ctx, &adminv1.ListEventsRequest{TaskId: id, After: 1, PageSize: 2})
	o.must(err)
	if len(page.GetEvents()) != 2 || page.GetEvents()[0].GetVersion() != 2 || !page.GetMore() || page.GetNewest() != all.GetNewest() {
		t.Errorf("two after the first: %v", page)
	}
	for field, q := range map[string]*adminv1.ListEventsRequest{"page_size": {TaskId: id, PageSize: 1001}, "after": {TaskId: id, After: -1}, "task_id": {}} {
		if _, err := admin.ListEvents(ctx, q); err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("%v: %v, want a word on %s", q, err, field)
		}
	}
}

func TestTasksAreCanceledWithAReasonAndEachHasAnOutcome(t *testing.T) {
	o := openOffice(t)
	held, over := o.ask("m1", "hello", "hold"), o.ask("m2", "hello", "fail")
	admin := o.admin[identity.Console]
	for field, q := range map[string]*adminv1.CancelTasksRequest{
		"reason": {TaskIds: []string{held}, Reason: " "}, "task_ids": {Reason: "why"}, "500": {TaskIds: []string{held}, Reason: strings.Repeat("x", 501)},
		"200": {TaskIds: make([]string, 201), Reason: "why"},
	} {
		if _, err := admin.CancelTasks(o.by("olga"), q); err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("%v: %v, want a word on %s", q, err, field)
		}
	}
	q := &adminv1.CancelTasksRequest{TaskIds: []string{over, held, "nothing"}, Reason: "maintenance tonight"}
	if _, err := admin.CancelTasks(o.by("vera"), q); fault.FromStatus(err).Reason != fault.PermissionDenied {
		t.Errorf("by a viewer: %v, want PERMISSION_DENIED", err)
	}
	res, err := admin.CancelTasks(o.by("olga"), q)
	o.must(err)
	var got []string
	for _, out := range res.GetOutcomes() {
		got = append(got, strings.Join([]string{out.GetTaskId(), out.GetState(), out.GetError()}, "|"))
	}
	want := []string{
		over + "||task " + over + " has ended as TASK_STATE_FAILED", held + "|TASK_STATE_CANCELED|", "nothing||there is no task nothing that you may see",
	}
	if got[0] != want[0] || got[1] != want[1] || !strings.HasPrefix(got[2], "nothing||") || !strings.Contains(got[2], "nothing") {
		t.Errorf("outcomes %q, want %q", got, want)
	}
	task, err := o.tasks.GetTask(o.by("alice"), &a2apb.GetTaskRequest{Id: held})
	o.must(err)
	if said := agent.TextOf(task.GetStatus().GetMessage().GetParts()); said != "canceled by an operator: maintenance tonight" {
		t.Errorf("the client reads %q", said)
	}
	hops, err := admin.ListHops(o.by("vera"), &adminv1.ListHopsRequest{TaskId: held})
	o.must(err)
	var rows []string
	for _, h := range hops.GetHops() {
		rows = append(rows, h.GetOutcome()+" "+h.GetCaller()+" "+h.GetPrincipal())
	}
	if strings.Join(rows, ", ") != "TASK_STATE_CANCELED gateway acme/alice, CANCEL_REQUESTED console ops/olga" {
		t.Errorf("hops %q", rows)
	}
}

func TestListsAreBoundedAndSayWhatIsWrong(t *testing.T) {
	o := openOffice(t)
	first := o.ask("m1", "the first", "fail")
	second := o.ask("m2", "the second", "hold")
	admin, ctx := o.admin[identity.Gateway], o.by("vera")
	list := func(q *adminv1.ListTasksRequest) (string, *adminv1.ListTasksResponse) {
		res, err := admin.ListTasks(ctx, q)
		o.must(err)
		var ids []string
		for _, s := range res.GetTasks() {
			ids = append(ids, s.GetId())
		}
		return strings.Join(ids, " "), res
	}
	if got, res := list(&adminv1.ListTasksRequest{PageSize: 1}); got != second || res.GetNextPageToken() == "" || res.GetCounts()["TASK_STATE_FAILED"] != 1 || len(res.GetCounts()) != 2 {
		t.Errorf("the first page: %v", res)
	} else if got, res := list(&adminv1.ListTasksRequest{PageSize: 1, PageToken: res.GetNextPageToken()}); got != first || res.GetNextPageToken() != "" {
		t.Errorf("the second page: %v", res)
	}
	for want, q := range map[string]*adminv1.ListTasksRequest{
		first:                {Query: "FIRST the"},
		second:               {States: []string{"TASK_STATE_WORKING"}, Principal: "acme/alice"},
		second + " " + first: {CreatedAfter: timestamppb.New(time.Now().Add(-time.Hour)), CreatedBefore: timestamppb.New(time.Now().Add(time.Hour))},
		"":                   {Playbook: "any"}, // a service without plans
	} {
		if got, _ := list(q); got != want {
			t.Errorf("%v: %q, want %q", q, got, want)
		}
	}
	for field, q := range map[string]*adminv1.ListTasksRequest{
		"page_size": {PageSize: 101}, "page_token": {PageToken: "x"}, "states": {States: []string{"WORKING"}}, "principal": {Principal: "a\x00"},
		"created_after": {CreatedAfter: &timestamppb.Timestamp{Nanos: -1}}, "created_before": {CreatedBefore: &timestamppb.Timestamp{Nanos: -1}},
		"200 bytes": {Query: strings.Repeat("x", 201)}, "10 words": {Query: strings.Repeat("x ", 11)},
	} {
		if _, err := admin.ListTasks(ctx, q); err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("%v: %v, want a word on %s", q, err, field)
		}
	}
	figures, err := admin.GetFigures(ctx, &adminv1.GetFiguresRequest{})
	o.must(err)
	last := figures.GetBuckets()[len(figures.GetBuckets())-1]
	if len(figures.GetBuckets()) != 30 || last.GetStarted() != 2 || last.GetFailed() != 1 || last.GetCompleted() != 0 || figures.GetTasks()["TASK_STATE_WORKING"] != 1 {
		t.Errorf("buckets %v, tasks %v", figures.GetBuckets(), figures.GetTasks())
	}
	if s := figures.GetSkills(); len(s) != 1 || s[0].GetSkill() != "fail" || s[0].GetCalls() != 1 || s[0].GetFailures() != 1 || s[0].GetP95() <= 0 {
		t.Errorf("skills %v", s)
	}
	for _, seconds := range []int64{-1, 59, 604_801} {
		if _, err := admin.GetFigures(ctx, &adminv1.GetFiguresRequest{Seconds: seconds}); err == nil || !strings.Contains(err.Error(), "seconds") {
			t.Errorf("%d seconds: %v", seconds, err)
		}
	}
}

func TestTheConsoleHearsWhichTasksChange(t *testing.T) {
	o := openOffice(t)
	ctx, cancel := context.WithTimeout(o.Context(), time.Minute)
	defer cancel()
	watch, err := o.admin[identity.Console].Watch(ctx, &adminv1.WatchRequest{})
	o.must(err)
	if first, err := watch.Recv(); err != nil || len(first.GetIds()) != 0 {
		t.Fatalf("the first answer: %v, %v", first, err)
	}
	id := o.ask("m1", "hello", "fail")
	next, err := watch.Recv()
	o.must(err)
	if len(next.GetIds()) != 1 || next.GetIds()[0] != id {
		t.Errorf("it heard %v, want %s", next, id)
	}
	refused, err := o.admin[identity.Gateway].Watch(o.by("olga"), &adminv1.WatchRequest{}, grpc.WaitForReady(true))
	if err == nil {
		_, err = refused.Recv()
	}
	if fault.FromStatus(err).Reason != fault.PermissionDenied {
		t.Errorf("through the gateway: %v, want PERMISSION_DENIED", err)
	}
}
