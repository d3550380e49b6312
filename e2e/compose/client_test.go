//go:build compose

package compose

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/encoding/protojson"
)

// gateways are connections to both.
var gateways [2]*grpc.ClientConn

func connect() error {
	for i, port := range grpcPorts {
		conn, err := grpc.NewClient("127.0.0.1:"+port, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			return err
		}
		gateways[i] = conn
	}
	return nil
}

// caller is the context of the operator's calls.
func caller(ctx context.Context, wait time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	return metadata.AppendToOutgoingContext(ctx, "a2a-version", "1.0", "x-api-key", key), cancel
}

func message(id, text string) *a2apb.SendMessageRequest {
	return &a2apb.SendMessageRequest{
		Message: &a2apb.Message{
			MessageId: id, Role: a2apb.Role_ROLE_USER, Parts: []*a2apb.Part{{Content: &a2apb.Part_Text{Text: text}}},
		},
		Configuration: &a2apb.SendMessageConfiguration{},
	}
}

// overGRPC, overREST and overJSONRPC send a message to a gateway and give the task.
func overGRPC(t *testing.T, gateway int, m *a2apb.SendMessageRequest) *a2apb.Task {
	t.Helper()
	ctx, cancel := caller(t.Context(), within)
	defer cancel()
	res, err := a2apb.NewA2AServiceClient(gateways[gateway]).SendMessage(ctx, m)
	if err != nil {
		t.Fatal(err)
	}
	return res.GetTask()
}

func overREST(t *testing.T, gateway int, m *a2apb.SendMessageRequest) *a2apb.Task {
	t.Helper()
	body, err := protojson.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	var res a2apb.SendMessageResponse
	if err := protojson.Unmarshal(call(t, http.MethodPost, httpPorts[gateway], "/message:send", body), &res); err != nil {
		t.Fatal(err)
	}
	return res.GetTask()
}

func overJSONRPC(t *testing.T, gateway int, m *a2apb.SendMessageRequest) *a2apb.Task {
	t.Helper()
	params, err := protojson.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	raw := call(t, http.MethodPost, httpPorts[gateway], "/rpc", fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":%s}`, params))
	var answer struct {
		Result json.RawMessage `json:"result"`
		Error  json.RawMessage `json:"error"`
	}
	if err := json.Unmarshal(raw, &answer); err != nil || answer.Error != nil {
		t.Fatalf("%s %v", raw, err)
	}
	var res a2apb.SendMessageResponse
	if err := protojson.Unmarshal(answer.Result, &res); err != nil {
		t.Fatal(err)
	}
	return res.GetTask()
}

// call makes an HTTP call that must succeed.
func call(t *testing.T, method, port, path string, body []byte) []byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, "http://127.0.0.1:"+port+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("A2A-Version", "1.0")
	req.Header.Set("X-API-Key", key)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	answer, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: %s %s %v", method, path, res.Status, answer, err)
	}
	return answer
}

func state(task *a2apb.Task) string { return task.GetStatus().GetState().String() }

// answer is the text of the artifact "answer", and the documents that it cites.
func answer(task *a2apb.Task) (text string, sources []string) {
	for _, a := range task.GetArtifacts() {
		if a.GetName() != "answer" {
			continue
		}
		for _, p := range a.GetParts() {
			text += p.GetText()
			for _, c := range p.GetData().GetStructValue().GetFields()["citations"].GetListValue().GetValues() {
				sources = append(sources, c.GetStructValue().GetFields()["document"].GetStringValue())
			}
		}
	}
	return text, sources
}
