// Package a2ajson writes the events of tasks and the messages to agents as ProtoJSON, to the letter as the
// protobuf library does but for its spaces, at a fraction of the time: it walks
// the few messages that events are made of without reflection. What is unusual it
// leaves to the library.
package a2ajson

import (
	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// AppendEvent appends an event. The errors are those of protojson: text that is not
// UTF-8, numbers and times that JSON cannot hold.
func AppendEvent(b []byte, ev *a2apb.StreamResponse) ([]byte, error) {
	w := writer{b: b}
	if w.event(ev); !w.odd {
		return w.b, nil
	}
	return protojson.MarshalOptions{}.MarshalAppend(b, ev)
}

// AppendRequest appends a request that sends a message. The errors are those of protojson.
func AppendRequest(b []byte, req *a2apb.SendMessageRequest) ([]byte, error) {
	w := writer{b: b}
	if w.request(req); !w.odd {
		return w.b, nil
	}
	return protojson.MarshalOptions{}.MarshalAppend(b, req)
}

// writer appends to b until it meets something odd: then b is worth nothing.
type writer struct {
	b   []byte
	odd bool
}

func (w *writer) event(ev *a2apb.StreamResponse) {
	switch p := ev.GetPayload().(type) {
	case *a2apb.StreamResponse_Task:
		w.raw(`{"task":`)
		w.task(p.Task)
	case *a2apb.StreamResponse_StatusUpdate:
		w.raw(`{"statusUpdate":`)
		w.statusUpdate(p.StatusUpdate)
	case *a2apb.StreamResponse_ArtifactUpdate:
		w.raw(`{"artifactUpdate":`)
		w.artifactUpdate(p.ArtifactUpdate)
	default:
		w.odd = true
	}
	w.raw(`}`)
}

// request is odd where it says how it is to be answered, which is rare.
func (w *writer) request(r *a2apb.SendMessageRequest) {
	if w.missing(r == nil) {
		return
	}
	w.open()
	w.text(`"tenant":`, r.Tenant)
	if r.Message != nil {
		w.name(`"message":`)
		w.message(r.Message)
	}
	if r.Configuration != nil {
		w.odd = true
	}
	w.metadata(r.Metadata)
	w.close()
}

func (w *writer) task(t *a2apb.Task) {
	if w.missing(t == nil) {
		return
	}
	w.open()
	w.text(`"id":`, t.Id)
	w.text(`"contextId":`, t.ContextId)
	if t.Status != nil {
		w.name(`"status":`)
		w.status(t.Status)
	}
	if len(t.Artifacts) > 0 {
		w.name(`"artifacts":`)
		list(w, t.Artifacts, (*writer).artifact)
	}
	if len(t.History) > 0 {
		w.name(`"history":`)
		list(w, t.History, (*writer).message)
	}
	w.metadata(t.Metadata)
	w.close()
}

func (w *writer) statusUpdate(u *a2apb.TaskStatusUpdateEvent) {
	if w.missing(u == nil) {
		return
	}
	w.open()
	w.text(`"taskId":`, u.TaskId)
	w.text(`"contextId":`, u.ContextId)
	if u.Status != nil {
		w.name(`"status":`)
		w.status(u.Status)
	}
	w.metadata(u.Metadata)
	w.close()
}

func (w *writer) artifactUpdate(u *a2apb.TaskArtifactUpdateEvent) {
	if w.missing(u == nil) {
		return
	}
	w.open()
	w.text(`"taskId":`, u.TaskId)
	w.text(`"contextId":`, u.ContextId)
	if u.Artifact != nil {
		w.name(`"artifact":`)
		w.artifact(u.Artifact)
	}
	w.flag(`"append":`, u.Append)
	w.flag(`"lastChunk":`, u.LastChunk)
	w.metadata(u.Metadata)
	w.close()
}

func (w *writer) status(s *a2apb.TaskStatus) {
	w.open()
	w.enum(`"state":`, int32(s.State), a2apb.TaskState_name)
	if s.Message != nil {
		w.name(`"message":`)
		w.message(s.Message)
	}
	if s.Timestamp != nil {
		w.name(`"timestamp":`)
		w.time(s.Timestamp)
	}
	w.close()
}

func (w *writer) artifact(a *a2apb.Artifact) {
	if w.missing(a == nil) {
		return
	}
	w.open()
	w.text(`"artifactId":`, a.ArtifactId)
	w.text(`"name":`, a.Name)
	w.text(`"description":`, a.Description)
	w.parts(a.Parts)
	w.metadata(a.Metadata)
	w.texts(`"extensions":`, a.Extensions)
	w.close()
}

func (w *writer) message(m *a2apb.Message) {
	if w.missing(m == nil) {
		return
	}
	w.open()
	w.text(`"messageId":`, m.MessageId)
	w.text(`"contextId":`, m.ContextId)
	w.text(`"taskId":`, m.TaskId)
	w.enum(`"role":`, int32(m.Role), a2apb.Role_name)
	w.parts(m.Parts)
	w.metadata(m.Metadata)
	w.texts(`"extensions":`, m.Extensions)
	w.texts(`"referenceTaskIds":`, m.ReferenceTaskIds)
	w.close()
}

func (w *writer) parts(parts []*a2apb.Part) {
	if len(parts) > 0 {
		w.name(`"parts":`)
		list(w, parts, (*writer).part)
	}
}

func (w *writer) part(p *a2apb.Part) {
	if w.missing(p == nil) {
		return
	}
	w.open()
	switch c := p.Content.(type) {
	case nil:
	case *a2apb.Part_Text:
		w.name(`"text":`)
		w.str(c.Text)
	case *a2apb.Part_Raw:
		w.name(`"raw":`)
		w.bytes(c.Raw)
	case *a2apb.Part_Url:
		w.name(`"url":`)
		w.str(c.Url)
	case *a2apb.Part_Data:
		w.name(`"data":`)
		w.value(c.Data)
	default:
		w.odd = true
	}
	w.metadata(p.Metadata)
	w.text(`"filename":`, p.Filename)
	w.text(`"mediaType":`, p.MediaType)
	w.close()
}

func (w *writer) metadata(s *structpb.Struct) {
	if s != nil {
		w.name(`"metadata":`)
		w.object(s)
	}
}

// time of a year with four digits (RFC 3339), with as many digits of a second as it needs, by threes.
func (w *writer) time(t *timestamppb.Timestamp) {
	if t.CheckValid() != nil {
		w.odd = true
		return
	}
	layout := "2006-01-02T15:04:05.000000000Z"
	switch n := t.Nanos; {
	case n == 0:
		layout = "2006-01-02T15:04:05Z"
	case n%1_000_000 == 0:
		layout = "2006-01-02T15:04:05.000Z"
	case n%1_000 == 0:
		layout = "2006-01-02T15:04:05.000000Z"
	}
	w.b = append(w.b, '"')
	w.b = t.AsTime().AppendFormat(w.b, layout)
	w.b = append(w.b, '"')
}
