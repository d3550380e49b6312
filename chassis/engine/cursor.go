package engine

import (
	"context"
	"strconv"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/chassis/ext"
	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/taskstore"
)

// cursor is a place in a task's events.
type cursor struct{ epoch, version int64 }

func cursorOf(ctx context.Context) (*cursor, error) {
	md, _ := metadata.FromIncomingContext(ctx)
	v := md.Get(ext.MetadataCursor)
	if len(v) == 0 || v[0] == "" {
		return nil, nil
	}
	epoch, version, ok := strings.Cut(v[0], ".")
	c := &cursor{}
	var err1, err2 error
	c.epoch, err1 = strconv.ParseInt(epoch, 10, 64)
	c.version, err2 = strconv.ParseInt(version, 10, 64)
	if !ok || err1 != nil || err2 != nil || c.version < 0 {
		return nil, fault.Invalid("cursor", "%q is not a cursor; send back the one of the last event you have seen", v[0])
	}
	return c, nil
}

// Gap in the metadata of a Task in a stream says that events between the
// cursor and this snapshot are not delivered one by one.
const gapKey = "gap"

// withCursor gives a copy of an event with its place in the metadata. The event
// itself is shared by readers and stays as it is.
func withCursor(ev *a2apb.StreamResponse, epoch, version int64, gap bool) *a2apb.StreamResponse {
	place := structpb.NewStringValue(formatCursor(epoch, version))
	switch p := ev.GetPayload().(type) {
	case *a2apb.StreamResponse_StatusUpdate:
		u := p.StatusUpdate
		return &a2apb.StreamResponse{Payload: &a2apb.StreamResponse_StatusUpdate{StatusUpdate: &a2apb.TaskStatusUpdateEvent{
			TaskId: u.GetTaskId(), ContextId: u.GetContextId(), Status: u.GetStatus(), Metadata: extended(u.GetMetadata(), place, false),
		}}}
	case *a2apb.StreamResponse_ArtifactUpdate:
		u := p.ArtifactUpdate
		return &a2apb.StreamResponse{Payload: &a2apb.StreamResponse_ArtifactUpdate{ArtifactUpdate: &a2apb.TaskArtifactUpdateEvent{
			TaskId: u.GetTaskId(), ContextId: u.GetContextId(), Artifact: u.GetArtifact(), Append: u.GetAppend(), LastChunk: u.GetLastChunk(),
			Metadata: extended(u.GetMetadata(), place, false),
		}}}
	case *a2apb.StreamResponse_Task:
		t := proto.CloneOf(p.Task)
		t.Metadata = extended(t.GetMetadata(), place, gap)
		return &a2apb.StreamResponse{Payload: &a2apb.StreamResponse_Task{Task: t}}
	}
	return ev
}

func extended(md *structpb.Struct, place *structpb.Value, gap bool) *structpb.Struct {
	fields := make(map[string]*structpb.Value, len(md.GetFields())+2)
	for k, v := range md.GetFields() {
		fields[k] = v
	}
	fields[ext.Cursor] = place
	if gap {
		fields[ext.Cursor+"/"+gapKey] = structpb.NewBoolValue(true)
	}
	return &structpb.Struct{Fields: fields}
}

func formatCursor(epoch, version int64) string {
	return strconv.FormatInt(epoch, 10) + "." + strconv.FormatInt(version, 10)
}

// present gives a task as clients see it: with its cursor.
func (e *Engine) present(rec *taskstore.Record) *a2apb.Task {
	rec.Task.Metadata = extended(rec.Task.GetMetadata(), structpb.NewStringValue(formatCursor(e.Store.Epoch(), rec.Version)), false)
	return rec.Task
}
