package push_test

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/chassis/outlet"
	"sabha.dev/chassis/push"
)

// under lets notifications hold what a policy says.
func (r *rig) under(policy string) func(*push.Config) {
	r.Helper()
	p, err := outlet.ParsePolicy("p.yaml", []byte(policy))
	r.must(err)
	outlets, err := outlet.New(slog.New(slog.NewTextHandler(r.log, nil)), prometheus.NewRegistry())
	r.must(err)
	out, err := outlets.Open("webhooks", outlet.Webhook, p)
	r.must(err)
	return func(c *push.Config) { c.Outlet = out }
}

const contact = "Ask anna.berg@example.com"

func TestWithoutAPolicyAWebhookIsToldEverything(t *testing.T) {
	r := newRig(t)
	p, v := r.start("a"), r.receiver(nil)
	p.tell(p.create("t1", v.URL), contact)
	r.wantGot(v, "task 1.1", "event 1.2 "+contact)
}

func TestAPolicyChangesWhatAWebhookIsTold(t *testing.T) {
	r := newRig(t)
	p, v := r.start("a", r.under("default: mask")), r.receiver(nil)
	h := p.create("t1", v.URL)
	p.tell(h, contact, "end")
	r.wantGot(v, "task 1.1", "event 1.2 Ask a***[at]***.com", "event 1.3 end")
	if s := r.log.String(); !strings.Contains(s, "outlet=webhooks") || !strings.Contains(s, "task_id=t1") || !strings.Contains(s, "email in part 1 bytes 4-25 mask by default") {
		t.Errorf("the record is %s", s)
	}
}

func TestWhatMayNotLeaveIsWithheldAndTheEventComes(t *testing.T) {
	r := newRig(t)
	policy := `{default: refuse, rules: [{when: 'recipient.skill.startsWith("localhost")', action: allow}]}`
	p, v := r.start("a", r.under(policy)), r.receiver(nil)
	h := p.create("t1", v.URL)
	p.tell(h, contact, "end")
	r.wantGot(v, "task 1.1", "event 1.2 This is withheld from notifications by policy. Get the task to read it.", "event 1.3 end")
	w := r.receiver(nil)
	p.tell(p.create("t2", strings.Replace(w.URL, "127.0.0.1", "localhost", 1)), contact)
	r.wantGot(w, "task 1.1", "event 1.2 "+contact)
}

func TestAPolicyReachesEveryPlaceOfAnEvent(t *testing.T) {
	r := newRig(t)
	p := r.start("a", r.under("default: mask"))
	parts := func() []*a2apb.Part {
		return []*a2apb.Part{{Content: &a2apb.Part_Text{Text: contact}}, {Content: &a2apb.Part_Data{Data: structpb.NewStringValue(contact)}}}
	}
	metadata := func() *structpb.Struct {
		return &structpb.Struct{Fields: map[string]*structpb.Value{"place": structpb.NewStringValue("1.2"), "who": structpb.NewStringValue(contact)}}
	}
	message := func() *a2apb.Message { return &a2apb.Message{MessageId: "m", Parts: parts(), Metadata: metadata()} }
	artifact := func() *a2apb.Artifact {
		return &a2apb.Artifact{ArtifactId: "a", Name: contact, Description: contact, Parts: parts(), Metadata: metadata()}
	}
	for name, ev := range map[string]*a2apb.StreamResponse{
		"task": {Payload: &a2apb.StreamResponse_Task{Task: &a2apb.Task{
			Id: "t", Status: &a2apb.TaskStatus{Message: message()}, History: []*a2apb.Message{message()}, Artifacts: []*a2apb.Artifact{artifact()}, Metadata: metadata(),
		}}},
		"message":  {Payload: &a2apb.StreamResponse_Message{Message: message()}},
		"status":   {Payload: &a2apb.StreamResponse_StatusUpdate{StatusUpdate: &a2apb.TaskStatusUpdateEvent{TaskId: "t", Status: &a2apb.TaskStatus{Message: message()}, Metadata: metadata()}}},
		"artifact": {Payload: &a2apb.StreamResponse_ArtifactUpdate{ArtifactUpdate: &a2apb.TaskArtifactUpdateEvent{TaskId: "t", Artifact: artifact(), Metadata: metadata()}}},
	} {
		before := proto.CloneOf(ev)
		left, err := p.Disclose(t.Context(), "https://hooks.example.com/x", ev)
		r.must(err)
		want, err := protojson.Marshal(before)
		r.must(err)
		got, err := protojson.Marshal(left)
		r.must(err)
		masked := strings.ReplaceAll(string(want), "anna.berg@example.com", "a***[at]***.com")
		if strings.ReplaceAll(string(got), " ", "") != strings.ReplaceAll(masked, " ", "") {
			t.Errorf("%s: leaves as\n%s\nwant\n%s", name, got, masked)
		}
		if !proto.Equal(ev, before) {
			t.Errorf("%s: the event of the others has changed", name)
		}
	}
}
