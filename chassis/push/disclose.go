package push

import (
	"context"
	"maps"
	"slices"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/outlet"
)

// withheld stands for what the policy does not let go to a webhook.
const withheld = "This is withheld from notifications by policy. Get the task to read it."

// disclose gives an event as it may leave to a webhook. The error is the context's.
func (d *Deliverer) disclose(ctx context.Context, j job, ev *a2apb.StreamResponse) (*a2apb.StreamResponse, error) {
	out := proto.CloneOf(ev)
	l := leaving{ctx: ctx, out: d.Outlet, use: outlet.Use{Of: hostOf(j.config.GetUrl()), Task: j.key.TaskID}}
	switch p := out.GetPayload().(type) {
	case *a2apb.StreamResponse_Task:
		l.message(p.Task.GetStatus().GetMessage())
		for _, m := range p.Task.GetHistory() {
			l.message(m)
		}
		for _, a := range p.Task.GetArtifacts() {
			l.artifact(a)
		}
		l.metadata(p.Task.GetMetadata())
	case *a2apb.StreamResponse_Message:
		l.message(p.Message)
	case *a2apb.StreamResponse_StatusUpdate:
		l.message(p.StatusUpdate.GetStatus().GetMessage())
		l.metadata(p.StatusUpdate.GetMetadata())
	case *a2apb.StreamResponse_ArtifactUpdate:
		l.artifact(p.ArtifactUpdate.GetArtifact())
		l.metadata(p.ArtifactUpdate.GetMetadata())
	}
	return out, l.err
}

// leaving changes an event in place.
type leaving struct {
	ctx context.Context
	out *outlet.Outlet
	use outlet.Use
	err error
}

func (l *leaving) message(m *a2apb.Message) {
	if m != nil {
		m.Parts = l.parts(m.GetParts())
		l.metadata(m.GetMetadata())
	}
}

func (l *leaving) artifact(a *a2apb.Artifact) {
	if a != nil {
		a.Parts = l.parts(a.GetParts())
		a.Name, a.Description = l.text(a.GetName()), l.text(a.GetDescription())
		l.metadata(a.GetMetadata())
	}
}

func (l *leaving) parts(parts []*a2apb.Part) []*a2apb.Part {
	if len(parts) == 0 {
		return parts
	}
	left, _, err := l.out.Parts(l.ctx, l.use, parts)
	if !l.may(err) || len(left) == 0 {
		return []*a2apb.Part{{Content: &a2apb.Part_Text{Text: withheld}, MediaType: "text/plain"}}
	}
	return left
}

func (l *leaving) text(text string) string {
	if text == "" {
		return ""
	}
	left, _, err := l.out.Text(l.ctx, l.use, text)
	if !l.may(err) {
		return ""
	}
	return left
}

// metadata decides about each value by itself, so that what is refused does not take
// the event's place with it.
func (l *leaving) metadata(md *structpb.Struct) {
	for _, key := range slices.Sorted(maps.Keys(md.GetFields())) {
		whole := structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{key: md.GetFields()[key]}})
		left, _, err := l.out.Parts(l.ctx, l.use, []*a2apb.Part{{Content: &a2apb.Part_Data{Data: whole}}})
		delete(md.GetFields(), key)
		if l.may(err) && len(left) == 1 {
			for k, changed := range left[0].GetData().GetStructValue().GetFields() {
				md.Fields[k] = changed
			}
		}
	}
}

// may tells whether something leaves, and keeps what has nothing to do with the policy.
func (l *leaving) may(err error) bool {
	if err != nil && fault.As(err) == nil {
		l.err = err
	}
	return err == nil
}
