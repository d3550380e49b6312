package legacy_test

import (
	"encoding/json"
	"net/url"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"sabha.dev/chassis/binding"
	"sabha.dev/chassis/fault"
	"sabha.dev/services/gateway/internal/legacy"
)

// operations of both HTTP bindings.
func operations() []binding.Operation {
	d := legacy.Dialect()
	var all []binding.Operation
	for _, op := range d.Methods {
		all = append(all, op)
	}
	for _, r := range d.Routes {
		all = append(all, r.Operation)
	}
	return all
}

// FuzzDecode gives every decoder what a client may send. It gives a request that can
// be sent on, or an error that is made for clients.
func FuzzDecode(f *testing.F) {
	for _, body := range []string{
		`{"message":{"kind":"message","messageId":"m","role":"user","parts":[{"kind":"text","text":"x"},{"kind":"data","data":{"a":1}},{"kind":"file","file":{"bytes":"aGk="}}]},"configuration":{"blocking":false,"historyLength":3,"pushNotificationConfig":{"url":"https://x","authentication":{"schemes":["Bearer"]}}}}`,
		`{"message":{"messageId":"m","role":"ROLE_USER","content":[{"text":"x"},{"file":{"fileWithBytes":"aGk="}},{"data":{"data":{"a":[1]}}}]},"configuration":{"blocking":true}}`,
		`{"message":{"role":"user","parts":[{"kind":"data","data":{"value":[1]},"metadata":{"data_part_compat":true}}]}}`,
		`{"request":{"content":null}}`, `{"id":"t","historyLength":-1}`, `{"taskId":"t","pushNotificationConfig":{"url":"x"}}`, `{"config":{"pushNotificationConfig":{}}}`, `null`, `[]`, `{"message":null,"configuration":null}`, ``,
	} {
		f.Add([]byte(body), "t", "c", "historyLength=1&pageSize=2&status=TASK_STATE_CANCELLED")
	}
	all := operations()
	f.Fuzz(func(t *testing.T, body []byte, task, config, query string) {
		if len(body) > 0 && !json.Valid(body) {
			return // the binding refuses it
		}
		values, err := url.ParseQuery(query)
		if err != nil {
			return
		}
		for _, op := range all {
			m, err := op.Decode(binding.Input{Task: task, Config: config, Query: values, Body: body})
			if err != nil {
				if fault.As(err) == nil {
					t.Errorf("%s: %v is not for clients", op.Name, err)
				}
				continue
			}
			if !m.ProtoReflect().IsValid() {
				t.Errorf("%s: no request and no error", op.Name)
			}
			// What is not UTF-8 cannot be sent; the binding refuses it in bodies, and gRPC in names.
			_, _ = proto.Marshal(m)
		}
	})
}

// FuzzEncode gives the encoders of answers and events what an agent may say. They give
// JSON or an error.
func FuzzEncode(f *testing.F) {
	for _, text := range []string{
		`{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING","message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"data":[1]},{"data":null},{"raw":"aGk="},{"url":"u"}]}},"artifacts":[{"artifactId":"a","parts":[{"data":"x"}]}],"history":[{}]}}`,
		`{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[{}]}}`, `{"statusUpdate":{"taskId":"t"}}`, `{"statusUpdate":{"status":{"state":"TASK_STATE_INPUT_REQUIRED"}}}`, `{"artifactUpdate":{}}`, `{}`, `{"task":{}}`,
	} {
		m := &a2apb.StreamResponse{}
		if err := protojson.Unmarshal([]byte(text), m); err != nil {
			f.Fatal(err)
		}
		raw, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	all := operations()
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, op := range all {
			var m proto.Message
			switch op.Name {
			case "SendStreamingMessage", "SubscribeToTask":
				m = &a2apb.StreamResponse{}
			case "SendMessage":
				m = &a2apb.SendMessageResponse{}
			case "GetTask", "CancelTask":
				m = &a2apb.Task{}
			case "ListTasks":
				m = &a2apb.ListTasksResponse{}
			default:
				continue
			}
			if proto.Unmarshal(raw, m) != nil {
				continue
			}
			if text, err := op.Encode(m); err == nil && !json.Valid(text) {
				t.Errorf("%s: %s is not JSON", op.Name, text)
			}
		}
	})
}
