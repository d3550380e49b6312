package engine

import (
	"context"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/chassis/ext"
	"sabha.dev/chassis/identity"
	"sabha.dev/chassis/label"
)

// strip removes from what comes in from outside what only services of the platform set.
func strip(m *a2apb.Message) {
	delete(m.GetMetadata().GetFields(), ext.Labels)
	delete(m.GetMetadata().GetFields(), ext.Confirm)
	delete(m.GetMetadata().GetFields(), ext.Purpose)
	for _, p := range m.GetParts() {
		delete(p.GetMetadata().GetFields(), ext.Labels)
	}
}

// mark writes into a message what is known of it beside it. Of one from outside: that it
// is nothing to act on unseen, as all that the bus brings, which another agent has
// written, and what an edge says is; and that a person must confirm it. An authenticated
// client's own text and data carry no label. Of a service's: the labels that it states
// for the whole, and the purpose of its data. It comes after the digest, which is of the message as sent: what is known
// of a message may change until it is sent again, and it is the same message.
func mark(ctx context.Context, call identity.Call, req *a2apb.SendMessageRequest) {
	m := req.GetMessage()
	if !call.Edge {
		said := req.GetMetadata().GetFields()
		if labels := said[ext.Labels]; labels != nil {
			put(label.From(labels), m)
		}
		if purpose := said[ext.Purpose]; purpose != nil {
			note(m, ext.Purpose, purpose)
		}
		return
	}
	believed := false
	if identity.IsEdge(call.Actor) {
		said := metadata.ValueFromIncomingContext(ctx, ext.MetadataIntegrity)
		believed = len(said) == 0 || said[0] == string(label.Trusted)
		if why := metadata.ValueFromIncomingContext(ctx, ext.MetadataConfirm); len(why) > 0 {
			note(m, ext.Confirm, structpb.NewStringValue(why[0]))
		}
	}
	if !believed {
		put(label.Labels{Integrity: label.Untrusted}, m)
	}
}

// note sets a key of a message's metadata.
func note(m *a2apb.Message, key string, v *structpb.Value) {
	if m.GetMetadata().GetFields() == nil {
		m.Metadata = &structpb.Struct{Fields: map[string]*structpb.Value{}}
	}
	m.Metadata.Fields[key] = v
}

func put(l label.Labels, m *a2apb.Message) {
	for _, p := range m.GetParts() {
		l.Put(p)
	}
}
