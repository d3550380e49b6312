package binding

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// appendMessage appends a message in ProtoJSON. Fields that are not set are left
// out, with one exception: a list of tasks always has its four fields
// (specification 3.1.4), while the tasks in it stay without artifacts that
// nobody asked for.
func appendMessage(b []byte, m proto.Message) ([]byte, error) {
	list, ok := m.(*a2apb.ListTasksResponse)
	if !ok {
		b, err := protojson.MarshalOptions{}.MarshalAppend(b, m)
		if err != nil {
			return nil, fmt.Errorf("encode %s: %w", m.ProtoReflect().Descriptor().FullName(), err)
		}
		return b, nil
	}
	b = append(b, `{"tasks":[`...)
	for i, task := range list.GetTasks() {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = appendMessage(b, task); err != nil {
			return nil, err
		}
	}
	b = append(b, `],"nextPageToken":`...)
	b = appendString(b, list.GetNextPageToken())
	b = append(b, `,"pageSize":`...)
	b = strconv.AppendInt(b, int64(list.GetPageSize()), 10)
	b = append(b, `,"totalSize":`...)
	b = strconv.AppendInt(b, int64(list.GetTotalSize()), 10)
	return append(b, '}'), nil
}

// appendString appends a JSON string, with characters that only HTML minds left
// readable.
func appendString(b []byte, s string) []byte {
	buf := bytes.NewBuffer(b)
	enc := json.NewEncoder(buf)
	enc.SetEscapeHTML(false)
	// Encoding a string cannot fail: bytes that are not UTF-8 are replaced.
	_ = enc.Encode(s)
	out := buf.Bytes()
	return out[:len(out)-1]
}
