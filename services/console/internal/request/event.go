package request

import (
	"encoding/json"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/proto"

	"sabha.dev/chassis/ext"
	adminv1 "sabha.dev/gen/sabha/admin/v1"
)

// Event of a task.
type Event struct {
	Version int64
	At      time.Time
	// Kind is task, status, artifact or message.
	Kind string
	// State after it; empty for those that do not change it.
	State State
	// Text in short.
	Text string
	// Raw is the event as JSON in one line.
	Raw json.RawMessage
}

// Events of a task.
type Events struct {
	List []Event
	// More says that there are more after the last one, Newest is the task's newest version.
	More   bool
	Newest int64
}

// OfEvents reads events from the contract.
func OfEvents(res *adminv1.ListEventsResponse) Events {
	all := Events{More: res.GetMore(), Newest: res.GetNewest()}
	for _, w := range res.GetEvents() {
		e := Event{Version: w.GetVersion(), At: at(w.GetAt()), Kind: "unknown"}
		r := &a2apb.StreamResponse{}
		if err := proto.Unmarshal(w.GetStreamResponse(), r); err == nil {
			e.read(r)
		}
		all.List = append(all.List, e)
	}
	return all
}

// OfResponse reads an event as an agent streams it.
func OfResponse(r *a2apb.StreamResponse) Event {
	e := Event{Kind: "unknown"}
	e.read(r)
	return e
}

func (e *Event) read(r *a2apb.StreamResponse) {
	e.Raw = Line(r)
	switch p := r.GetPayload().(type) {
	case *a2apb.StreamResponse_Task:
		e.Kind, e.State = "task", FromWire(p.Task.GetStatus().GetState().String())
		e.Text = Words(ofParts(p.Task.GetStatus().GetMessage().GetParts()))
	case *a2apb.StreamResponse_StatusUpdate:
		s := p.StatusUpdate.GetStatus()
		e.Kind, e.State, e.Text = "status", FromWire(s.GetState().String()), Words(ofParts(s.GetMessage().GetParts()))
		if e.Text == "" {
			e.Text = ofMetadata(p.StatusUpdate.GetMetadata().GetFields()[ext.Plan].GetStructValue()).changes()
		}
	case *a2apb.StreamResponse_ArtifactUpdate:
		a := p.ArtifactUpdate.GetArtifact()
		e.Kind, e.Text = "artifact", named(a.GetName(), Words(ofParts(a.GetParts())))
	case *a2apb.StreamResponse_Message:
		e.Kind, e.Text = "message", Words(ofParts(p.Message.GetParts()))
	}
}

// named puts the name of something before its words.
func named(name, words string) string {
	if name == "" || words == "" {
		return name + words
	}
	return name + ": " + words
}
