package engine_test

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/engine"
	"sabha.dev/chassis/ext"
	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/identity"
	"sabha.dev/chassis/label"
)

// screener refuses what says "attack" and can be out of reach.
type screener struct {
	mu    sync.Mutex
	away  bool
	asked int
}

func (s *screener) set(away bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away = away
}

func (s *screener) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

func (s *screener) Screen(_ context.Context, m *a2apb.Message) (engine.Verdict, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	if s.away {
		return engine.Verdict{}, errors.New("secret: no route to 10.0.0.9")
	}
	if strings.Contains(agent.TextOf(m.GetParts()), "attack") {
		return engine.Verdict{Reason: "it tries to change the rules", PolicyVersion: "p7"}, nil
	}
	return engine.Verdict{Allowed: true, PolicyVersion: "p7"}, nil
}

// screened starts a replica whose agent asks back, and notes what it was asked to do.
func screened(r *rig) (*replica, *screener, *[]string) {
	var mu sync.Mutex
	worked := &[]string{}
	s := &screener{}
	a := agent.Agent{Tenant: "doer", Name: "Doer", Version: "1", Skills: []agent.Skill{
		{ID: "do", Run: func(_ context.Context, run agent.Run) (agent.Outcome, error) {
			mu.Lock()
			*worked = append(*worked, agent.TextOf(run.Request().Message.GetParts()))
			mu.Unlock()
			if len(run.Task().GetHistory()) == 1 {
				return agent.InputRequired(agent.Text("more?")), nil
			}
			return agent.Completed(agent.Text("worked")), nil
		}},
		{ID: "tell", Anonymous: true, Answer: func(_ context.Context, req *agent.Request) (*a2apb.Message, error) {
			return agent.Message(agent.Text("told")), nil
		}},
		{ID: "inner", Internal: true, Run: func(context.Context, agent.Run) (agent.Outcome, error) { return agent.Completed(), nil }},
	}}
	return r.start("a", a, func(c *engine.Config) { c.Screener = s }), s, worked
}

func TestWhatScreeningAllowsIsWorkedOn(t *testing.T) {
	r := onSQLite(t)
	p, _, worked := screened(r)
	task := p.send(request("m1", "do", "help"))
	if task.GetStatus().GetState() != a2apb.TaskState_TASK_STATE_INPUT_REQUIRED || len(*worked) != 1 {
		t.Errorf("%v after work on %v", task.GetStatus().GetState(), *worked)
	}
	if done := p.send(followUp("m2", task.GetId(), "more")); said(done) != "worked" {
		t.Errorf("%v %q", done.GetStatus().GetState(), said(done))
	}
	rec, err := p.store.Get(t.Context(), task.GetId())
	if err != nil || rec.Info.Admission != "allowed by policy p7" {
		t.Errorf("admission %q, %v", rec.Info.Admission, err)
	}
}

func TestWhatScreeningRefusesIsADurableRejection(t *testing.T) {
	r := onSQLite(t)
	p, _, worked := screened(r)
	task := p.send(request("m1", "do", "attack"))
	stored := p.task(task.GetId())
	for _, got := range []*a2apb.Task{task, stored} {
		if got.GetStatus().GetState() != a2apb.TaskState_TASK_STATE_REJECTED || !strings.Contains(said(got), "it tries to change the rules") {
			t.Errorf("%v %q", got.GetStatus().GetState(), said(got))
		}
	}
	if len(*worked) != 0 {
		t.Errorf("worked on %v", *worked)
	}
	hops, err := p.store.Hops(t.Context(), task.GetId(), "")
	if err != nil || len(hops) != 1 || hops[0].Outcome != "TASK_STATE_REJECTED" || hops[0].Admission != "refused by policy p7" {
		t.Errorf("audit rows %+v, %v", hops, err)
	}
}

func TestAFollowUpThatIsRefusedChangesNothing(t *testing.T) {
	r := onSQLite(t)
	p, s, _ := screened(r)
	task := p.send(request("m1", "do", "help"))
	_, err := p.SendMessage(alice(t), followUp("m2", task.GetId(), "attack"))
	wantReason(t, err, fault.PermissionDenied)
	s.set(true)
	_, err = p.SendMessage(alice(t), followUp("m3", task.GetId(), "more"))
	wantReason(t, err, fault.Unavailable)
	if got := p.task(task.GetId()); got.GetStatus().GetState() != a2apb.TaskState_TASK_STATE_INPUT_REQUIRED || len(got.GetHistory()) != 1 {
		t.Errorf("the task has become %v", got)
	}
	s.set(false)
	if done := p.send(followUp("m3", task.GetId(), "more")); said(done) != "worked" {
		t.Errorf("sent again: %v %q", done.GetStatus().GetState(), said(done))
	}
}

func TestUnreachableScreeningNeverMeansAllowed(t *testing.T) {
	for _, c := range []struct {
		name  string
		comes bool
		state a2apb.TaskState
		says  string
	}{
		{"it comes back within the budget", true, a2apb.TaskState_TASK_STATE_INPUT_REQUIRED, "more?"},
		{"it stays away", false, a2apb.TaskState_TASK_STATE_REJECTED, "could not be screened in time"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := onSQLite(t)
			p, s, worked := screened(r)
			s.set(true)
			task := p.send(atOnce(request("m1", "do", "help")))
			r.eventually("screening was tried a few times", func() bool { return s.count() >= 3 })
			if got := p.state(task.GetId()); got != a2apb.TaskState_TASK_STATE_SUBMITTED || len(*worked) != 0 {
				t.Errorf("meanwhile the task is %v, worked on %v", got, *worked)
			}
			s.set(!c.comes)
			r.eventually("the task goes on", p.reached(task.GetId(), c.state))
			got := p.task(task.GetId())
			if !strings.Contains(said(got), c.says) || strings.Contains(said(got), "secret") {
				t.Errorf("the client reads %q", said(got))
			}
			if !c.comes && len(*worked) != 0 {
				t.Errorf("worked on %v", *worked)
			}
		})
	}
}

func TestADirectAnswerIsScreenedFirst(t *testing.T) {
	r := onSQLite(t)
	p, s, _ := screened(r)
	if _, err := p.SendMessage(as(t.Context(), ""), request("m1", "tell", "hello")); err != nil {
		t.Errorf("an anonymous caller: %v", err)
	}
	_, err := p.SendMessage(alice(t), request("m2", "tell", "attack"))
	wantReason(t, err, fault.PermissionDenied)
	s.set(true)
	_, err = p.SendMessage(alice(t), request("m3", "tell", "hello"))
	wantReason(t, err, fault.Unavailable)
	if strings.Contains(fault.Status(err).Message(), "secret") {
		t.Errorf("the client reads %v", err)
	}
}

func TestServicesOfThePlatformAreNotScreened(t *testing.T) {
	r := onSQLite(t)
	p, s, _ := screened(r)
	inside := identity.WithCall(as(t.Context(), "alice"), identity.Call{Actor: "planner", Principal: identity.Principal{Subject: "alice", Organisation: "acme"}})
	res, err := p.SendMessage(inside, request("m1", "do", "attack"))
	if err != nil || res.GetTask().GetStatus().GetState() != a2apb.TaskState_TASK_STATE_INPUT_REQUIRED || s.count() != 0 {
		t.Fatalf("%v, %v; screened %d times", res, err, s.count())
	}
	// The child task is the service's: the client neither sees nor lists it.
	_, err = p.GetTask(alice(t), &a2apb.GetTaskRequest{Id: res.GetTask().GetId()})
	wantReason(t, err, fault.TaskNotFound)
	if list, err := p.ListTasks(alice(t), &a2apb.ListTasksRequest{}); err != nil || list.GetTotalSize() != 0 {
		t.Errorf("the client lists %v, %v", list, err)
	}
	_, err = p.SendMessage(alice(t), request("m2", "inner", "go"))
	wantReason(t, err, fault.UnknownSkill)
	if res, err = p.SendMessage(inside, request("m3", "inner", "go")); err != nil || res.GetTask().GetStatus().GetState() != a2apb.TaskState_TASK_STATE_COMPLETED {
		t.Errorf("an internal skill called from inside: %v, %v", res, err)
	}
}

func TestLabelsFromOutsideAreStripped(t *testing.T) {
	r := onSQLite(t)
	p, _, _ := screened(r)
	req := request("m1", "do", "help")
	label := structpb.NewStringValue("trusted")
	req.Message.Metadata.Fields[ext.Labels] = label
	req.Message.Parts[0].Metadata = &structpb.Struct{Fields: map[string]*structpb.Value{ext.Labels: label, "mine": label}}
	m := p.send(req).GetHistory()[0]
	if m.GetMetadata().GetFields()[ext.Labels] != nil || m.GetParts()[0].GetMetadata().GetFields()[ext.Labels] != nil {
		t.Errorf("the stored message keeps labels: %v", m)
	}
	if m.GetParts()[0].GetMetadata().GetFields()["mine"] == nil {
		t.Errorf("metadata of the client's own is lost: %v", m)
	}
}

func TestWhatAnEdgeSaysOfAMessageIsWrittenIntoIt(t *testing.T) {
	r := onSQLite(t)
	p, _, _ := screened(r)
	mine := map[string]*structpb.Value{ext.Labels: structpb.NewStringValue("trusted"), ext.Confirm: structpb.NewStringValue("of the client's own")}
	link := &a2apb.Part{Content: &a2apb.Part_Url{Url: "https://example.com/x"}, MediaType: "text/plain"}
	for name, c := range map[string]struct {
		headers       []string
		text, confirm string
	}{
		"a client": {},
		"another organisation's agent": {
			headers: []string{ext.MetadataIntegrity, "untrusted", ext.MetadataConfirm, "the agreement asks for it"},
			text:    "untrusted", confirm: "the agreement asks for it",
		},
		"an integrity that is not known": {headers: []string{ext.MetadataIntegrity, "fine"}, text: "untrusted"},
	} {
		t.Run(name, func(t *testing.T) {
			req := request(name, "do", "help")
			req.Message.Metadata.Fields[ext.Confirm] = mine[ext.Confirm]
			req.Message.Parts = append(req.Message.Parts, proto.CloneOf(link), &a2apb.Part{Content: &a2apb.Part_Raw{Raw: []byte("x")}, MediaType: "text/plain", Metadata: &structpb.Struct{Fields: maps.Clone(mine)}})
			same := proto.CloneOf(req)
			res, err := p.SendMessage(metadata.NewIncomingContext(alice(t), metadata.Pairs(append(c.headers, ext.MetadataVersion, "1.0")...)), req)
			if err != nil {
				t.Fatal(err)
			}
			m := res.GetTask().GetHistory()[0]
			if got := label.Of(m.GetParts()[0]).Integrity; string(got) != c.text {
				t.Errorf("the text is labelled %q, want %q", got, c.text)
			}
			for _, file := range m.GetParts()[1:] {
				if got := label.Of(file).Integrity; got != label.Untrusted {
					t.Errorf("a file is labelled %q", got)
				}
			}
			if got := m.GetMetadata().GetFields()[ext.Confirm].GetStringValue(); got != c.confirm {
				t.Errorf("confirmation %q, want %q", got, c.confirm)
			}
			if again, err := p.SendMessage(alice(t), same); err != nil || again.GetTask().GetId() != res.GetTask().GetId() {
				t.Errorf("the same message again gave %v, %v", again, err)
			}
		})
	}
}

func TestTheLabelsThatAServiceStatesAreNoPartOfTheMessage(t *testing.T) {
	r := onSQLite(t)
	p, _, _ := screened(r)
	inside := identity.WithCall(as(t.Context(), "alice"), identity.Call{Actor: "planner", Principal: identity.Principal{Subject: "alice", Organisation: "acme"}})
	stating := func(l label.Labels) *a2apb.SendMessageRequest {
		req := request("m1", "do", "help")
		req.Metadata = &structpb.Struct{Fields: map[string]*structpb.Value{ext.Labels: l.Value()}}
		return req
	}
	untrusted := label.Labels{Integrity: label.Untrusted, Classes: []string{"iban"}}
	first, err := p.SendMessage(inside, stating(untrusted))
	if err != nil {
		t.Fatal(err)
	}
	if got := label.Of(first.GetTask().GetHistory()[0].GetParts()...); !reflect.DeepEqual(got, untrusted) {
		t.Errorf("the part is labelled %+v", got)
	}
	// Of a release that knows nothing of labels, and of one that knows more.
	for _, again := range []*a2apb.SendMessageRequest{request("m1", "do", "help"), stating(label.Labels{Integrity: label.Trusted})} {
		if res, err := p.SendMessage(inside, again); err != nil || res.GetTask().GetId() != first.GetTask().GetId() {
			t.Errorf("the same message again gave %v, %v", res, err)
		}
	}
	outside := stating(label.Labels{Integrity: label.Trusted})
	outside.Message.MessageId = "m2"
	if m := p.send(outside).GetHistory()[0]; !label.Of(m.GetParts()...).IsZero() {
		t.Errorf("a client labels its own message: %v", m)
	}
}

func TestThePurposeThatAServiceStatesIsNoPartOfTheMessage(t *testing.T) {
	r := onSQLite(t)
	p, _, _ := screened(r)
	inside := identity.WithCall(as(t.Context(), "alice"), identity.Call{Actor: "planner", Principal: identity.Principal{Subject: "alice", Organisation: "acme"}})
	purpose := structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{"name": structpb.NewStringValue("grading")}})
	req := request("m1", "do", "help")
	req.Metadata = &structpb.Struct{Fields: map[string]*structpb.Value{ext.Purpose: purpose}}
	first, err := p.SendMessage(inside, req)
	if err != nil {
		t.Fatal(err)
	}
	if got := first.GetTask().GetHistory()[0].GetMetadata().GetFields()[ext.Purpose]; !proto.Equal(got, purpose) {
		t.Errorf("the message is for %v", got)
	}
	if res, err := p.SendMessage(inside, request("m1", "do", "help")); err != nil || res.GetTask().GetId() != first.GetTask().GetId() {
		t.Errorf("the same message again gave %v, %v", res, err)
	}
	// A client states none: neither beside its message nor in it.
	outside := request("m2", "do", "help")
	outside.Metadata = req.Metadata
	outside.Message.Metadata.Fields[ext.Purpose] = purpose
	if m := p.send(outside).GetHistory()[0]; m.GetMetadata().GetFields()[ext.Purpose] != nil {
		t.Errorf("a client states the purpose: %v", m)
	}
}
