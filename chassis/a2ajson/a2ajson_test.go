package a2ajson_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"sabha.dev/chassis/a2ajson"
)

// same fails unless an event is written as the library writes it, or refused as it refuses it.
func same(t *testing.T, ev *a2apb.StreamResponse) {
	t.Helper()
	got, err := a2ajson.AppendEvent([]byte("before"), ev)
	theirs, theirErr := protojson.Marshal(ev)
	if (err == nil) != (theirErr == nil) {
		t.Fatalf("%v: error %v, the library's %v", ev, err, theirErr)
	}
	if err != nil {
		return
	}
	got, ok := bytes.CutPrefix(got, []byte("before"))
	if !ok {
		t.Fatalf("%q does not begin with what was there", got)
	}
	var mine, want bytes.Buffer
	if err := json.Compact(&mine, got); err != nil {
		t.Fatalf("%q is no JSON: %v", got, err)
	}
	if err := json.Compact(&want, theirs); err != nil {
		t.Fatal(err)
	}
	if mine.String() != want.String() {
		t.Errorf("wrote\n%s\nthe library\n%s", mine.String(), want.String())
	}
}

func full() (*a2apb.Task, *a2apb.Message, *a2apb.Artifact, *structpb.Struct) {
	md := &structpb.Struct{Fields: map[string]*structpb.Value{
		"urn:z": structpb.NewStringValue("1.4"), "a\"\n": structpb.NewNumberValue(0.1), "é": structpb.NewNullValue(), "t": structpb.NewBoolValue(true),
		"list": structpb.NewListValue(&structpb.ListValue{Values: []*structpb.Value{
			structpb.NewNumberValue(-12345678901234), structpb.NewNumberValue(math.Copysign(0, -1)), structpb.NewBoolValue(false),
			structpb.NewStructValue(&structpb.Struct{}), structpb.NewListValue(&structpb.ListValue{}),
		}}),
		"deep": structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{"n": structpb.NewNumberValue(1e20)}}),
	}}
	parts := []*a2apb.Part{
		{Content: &a2apb.Part_Text{Text: "plain"}},
		{Content: &a2apb.Part_Text{}},
		{Content: &a2apb.Part_Raw{Raw: []byte{0, 1, 250}}, Filename: "f.bin", MediaType: "application/octet-stream"},
		{Content: &a2apb.Part_Url{Url: "https://example.com/?a=1&b=<2>"}, Metadata: md},
		{Content: &a2apb.Part_Data{Data: structpb.NewStructValue(md)}},
		{Content: &a2apb.Part_Raw{}},
		{},
		{Content: &a2apb.Part_Text{Text: "\x00\x01\b\f\n\r\t\x1f \"\\/<>& \x7f \u2028 \u2029 é 漢 🙂"}},
	}
	m := &a2apb.Message{
		MessageId: "m", ContextId: "c", TaskId: "t", Role: a2apb.Role_ROLE_AGENT, Parts: parts, Metadata: md,
		Extensions: []string{"urn:x", ""}, ReferenceTaskIds: []string{"r1", "r2"},
	}
	a := &a2apb.Artifact{ArtifactId: "a", Name: "n", Description: "d", Parts: parts, Metadata: md, Extensions: []string{"urn:y"}}
	t := &a2apb.Task{
		Id: "t", ContextId: "c", Status: &a2apb.TaskStatus{State: a2apb.TaskState_TASK_STATE_WORKING, Message: m, Timestamp: timestamppb.Now()},
		Artifacts: []*a2apb.Artifact{a, {}}, History: []*a2apb.Message{m, {}}, Metadata: md,
	}
	return t, m, a, md
}

func task(t *a2apb.Task) *a2apb.StreamResponse {
	return &a2apb.StreamResponse{Payload: &a2apb.StreamResponse_Task{Task: t}}
}

func status(s *a2apb.TaskStatus) *a2apb.StreamResponse {
	return &a2apb.StreamResponse{Payload: &a2apb.StreamResponse_StatusUpdate{StatusUpdate: &a2apb.TaskStatusUpdateEvent{Status: s}}}
}

func artifact(u *a2apb.TaskArtifactUpdateEvent) *a2apb.StreamResponse {
	return &a2apb.StreamResponse{Payload: &a2apb.StreamResponse_ArtifactUpdate{ArtifactUpdate: u}}
}

func data(v *structpb.Value) *a2apb.StreamResponse {
	return artifact(&a2apb.TaskArtifactUpdateEvent{Artifact: &a2apb.Artifact{Parts: []*a2apb.Part{{Content: &a2apb.Part_Data{Data: v}}}}})
}

func TestEventsAreWrittenAsTheLibraryDoes(t *testing.T) {
	all, m, a, md := full()
	for name, ev := range map[string]*a2apb.StreamResponse{
		"nothing": {}, "none": nil, "a task": task(all), "an empty task": task(&a2apb.Task{}), "no task": task(nil),
		"a message": {Payload: &a2apb.StreamResponse_Message{Message: m}},
		"a status": {Payload: &a2apb.StreamResponse_StatusUpdate{StatusUpdate: &a2apb.TaskStatusUpdateEvent{
			TaskId: "t", ContextId: "c", Status: all.Status, Metadata: md,
		}}},
		"an artifact":           artifact(&a2apb.TaskArtifactUpdateEvent{TaskId: "t", ContextId: "c", Artifact: a, Append: true, LastChunk: true, Metadata: &structpb.Struct{}}),
		"no status update":      {Payload: &a2apb.StreamResponse_StatusUpdate{}},
		"no artifact update":    artifact(nil),
		"an empty artifact":     artifact(&a2apb.TaskArtifactUpdateEvent{}),
		"no parts in lists":     task(&a2apb.Task{Artifacts: []*a2apb.Artifact{nil}, History: []*a2apb.Message{nil, {Parts: []*a2apb.Part{nil}}}}),
		"an unknown state":      status(&a2apb.TaskStatus{State: 99}),
		"an unknown role":       status(&a2apb.TaskStatus{Message: &a2apb.Message{Role: -1}}),
		"no UTF-8":              artifact(&a2apb.TaskArtifactUpdateEvent{TaskId: "a\xffb"}),
		"no UTF-8 in a name":    data(structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{"\xc3": structpb.NewNullValue()}})),
		"no value":              data(nil),
		"a value of no kind":    data(&structpb.Value{}),
		"a null struct":         data(&structpb.Value{Kind: &structpb.Value_StructValue{}}),
		"a null list":           data(&structpb.Value{Kind: &structpb.Value_ListValue{}}),
		"a null in a list":      data(structpb.NewListValue(&structpb.ListValue{Values: []*structpb.Value{nil}})),
		"no time":               status(&a2apb.TaskStatus{Timestamp: &timestamppb.Timestamp{}}),
		"thousandths":           status(&a2apb.TaskStatus{Timestamp: &timestamppb.Timestamp{Seconds: 1, Nanos: 120_000_000}}),
		"millionths":            status(&a2apb.TaskStatus{Timestamp: &timestamppb.Timestamp{Seconds: -1, Nanos: 1_000}}),
		"billionths":            status(&a2apb.TaskStatus{Timestamp: &timestamppb.Timestamp{Seconds: 253402300799, Nanos: 1}}),
		"a time after all":      status(&a2apb.TaskStatus{Timestamp: &timestamppb.Timestamp{Seconds: 253402300800}}),
		"a time that is no one": status(&a2apb.TaskStatus{Timestamp: &timestamppb.Timestamp{Nanos: -1}}),
	} {
		t.Run(name, func(t *testing.T) { same(t, ev) })
	}
}

func TestEveryCharacterAtEveryPlaceIsWrittenAsTheLibraryDoes(t *testing.T) {
	for c := range rune(0x100) {
		for at := range 18 {
			text := strings.Repeat("x", at) + string(c) + strings.Repeat("~", 17-at)
			same(t, data(structpb.NewStringValue(text)))
		}
	}
	same(t, data(structpb.NewStringValue("12345678\xff90123456")))
}

func TestNumbersAreWrittenAsTheLibraryDoes(t *testing.T) {
	for _, f := range []float64{
		0, 1, -1, 1.5, 0.1, 1e-6, 9.99e-7, 1e-7, 1e20, 1e21, 123456789012345678, 1.0 / 3, math.MaxFloat64, math.SmallestNonzeroFloat64, math.Pi, -1e-9,
		math.NaN(), math.Inf(1), math.Inf(-1), math.MaxInt64, math.MinInt64, 1 << 53,
	} {
		same(t, data(structpb.NewNumberValue(f)))
	}
}

func TestRequestsAreWrittenAsTheLibraryDoes(t *testing.T) {
	_, m, _, md := full()
	for _, req := range []*a2apb.SendMessageRequest{
		{},
		{Message: m},
		{Tenant: "a/\"b\"", Message: m, Metadata: md},
		{Message: &a2apb.Message{}},
		{Message: m, Configuration: &a2apb.SendMessageConfiguration{HistoryLength: new(int32), ReturnImmediately: true}},
		{Message: &a2apb.Message{MessageId: "\xff"}},
	} {
		got, err := a2ajson.AppendRequest([]byte("before"), req)
		theirs, theirErr := protojson.Marshal(req)
		if (err == nil) != (theirErr == nil) {
			t.Errorf("%v: error %v, the library's %v", req, err, theirErr)
		}
		if err != nil {
			continue
		}
		var mine, want bytes.Buffer
		if err := errors.Join(json.Compact(&mine, bytes.TrimPrefix(got, []byte("before"))), json.Compact(&want, theirs)); err != nil || mine.String() != want.String() {
			t.Errorf("wrote\n%s\nthe library\n%s (%v)", mine.String(), want.String(), err)
		}
	}
}

// A field that a later version of the messages has must not be left out.
func TestAllFieldsOfEventsAreKnown(t *testing.T) {
	for _, m := range []struct {
		proto.Message
		fields int
	}{
		{&a2apb.StreamResponse{}, 4},
		{&a2apb.Task{}, 6},
		{&a2apb.TaskStatus{}, 3},
		{&a2apb.Message{}, 8},
		{&a2apb.Artifact{}, 6},
		{&a2apb.Part{}, 7},
		{&a2apb.TaskStatusUpdateEvent{}, 4},
		{&a2apb.TaskArtifactUpdateEvent{}, 6},
		{&structpb.Value{}, 6},
		{&timestamppb.Timestamp{}, 2},
		{&a2apb.SendMessageRequest{}, 4},
	} {
		d := m.ProtoReflect().Descriptor()
		if n := d.Fields().Len(); n != m.fields {
			t.Errorf("%s has %d fields, %d are known here", d.FullName(), n, m.fields)
		}
	}
}

func FuzzAppendEvent(f *testing.F) {
	all, m, a, _ := full()
	for _, ev := range []*a2apb.StreamResponse{
		task(all), status(&a2apb.TaskStatus{State: 2, Message: m}), artifact(&a2apb.TaskArtifactUpdateEvent{TaskId: "t", Artifact: a}), data(structpb.NewNumberValue(1e21)),
	} {
		raw, err := proto.Marshal(ev)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		ev := &a2apb.StreamResponse{}
		if proto.Unmarshal(raw, ev) != nil {
			return
		}
		same(t, ev)
	})
}

func BenchmarkAppendEvent(b *testing.B) {
	ev := artifact(&a2apb.TaskArtifactUpdateEvent{
		TaskId: "0190c8f2-0000-7000-8000-000000000000", ContextId: "0190c8f2-0000-7000-8000-000000000001", LastChunk: true,
		Artifact: &a2apb.Artifact{ArtifactId: "0190c8f2-0000-7000-8000-000000000002", Parts: []*a2apb.Part{{Content: &a2apb.Part_Text{Text: string(bytes.Repeat([]byte("y"), 1024))}}}},
		Metadata: &structpb.Struct{Fields: map[string]*structpb.Value{"urn:sabha:ext:cursor:v1": structpb.NewStringValue("1.4")}},
	})
	for name, f := range map[string]func([]byte, *a2apb.StreamResponse) ([]byte, error){
		"ours": a2ajson.AppendEvent,
		"library": func(b []byte, ev *a2apb.StreamResponse) ([]byte, error) {
			return protojson.MarshalOptions{}.MarshalAppend(b, ev)
		},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := f(nil, ev); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
