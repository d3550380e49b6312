package assembly_test

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/ext"
	"sabha.dev/cmd/sabha/platform"
	reviewv1 "sabha.dev/gen/sabha/review/v1"
)

const approval = `playbook: approval
version: 1
description: Says what it is told to say when a person has approved it.
product: letters
risk: low
budget: 1m
input:
  text: words
  schema: {type: object, properties: {words: {type: string}}}
steps:
  - id: person
    agent: review
    skill: review
    inputs: {title: A letter, content: = input.words, effect: The letter is sent.}
output:
  text: = steps.person.output.data.content
`

// reviewing calls the review service as HTTP+JSON with a key and gives status and body.
func (r *rig) reviewing(key, method, path string, body any) (int, []byte) {
	r.t.Helper()
	var raw []byte
	if body != nil {
		var err error
		if raw, err = json.Marshal(body); err != nil {
			r.t.Fatal(err)
		}
	}
	req, err := http.NewRequestWithContext(r.ctx(), method, "http://"+r.p.HTTPAddr()+"/v1/review/"+path, strings.NewReader(string(raw)))
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("X-API-Key", key)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return res.StatusCode, answer
}

// waits finds the one item that waits in a state.
func (r *rig) waits(key string, state reviewv1.State) *reviewv1.Item {
	r.t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		code, raw := r.reviewing(key, "GET", "items?states="+state.String(), nil)
		list := &reviewv1.ListItemsResponse{}
		if err := protojson.Unmarshal(raw, list); err != nil || code != http.StatusOK {
			r.t.Fatalf("%d %s: %v", code, raw, err)
		}
		if len(list.GetItems()) == 1 {
			return list.GetItems()[0]
		}
	}
	r.t.Fatalf("nothing waits as %s", state)
	return nil
}

func TestAClientsStreamEndsWhenAPersonHasDecided(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "approval.yaml"), []byte(approval), 0o600); err != nil {
		t.Fatal(err)
	}
	r := start(t, func(o *platform.Options) { o.Playbooks = folder })
	ada, rosa := r.key("ada", "acme", ""), r.key("rosa", "acme", "reviewer")
	req := ask("Dear Sir")
	req.Message.Metadata = &structpb.Struct{Fields: map[string]*structpb.Value{ext.Playbook: structpb.NewStringValue("approval")}}
	stream, err := r.a2a.SendStreamingMessage(metadata.AppendToOutgoingContext(t.Context(), "a2a-version", "1.0", "x-api-key", ada), req)
	if err != nil {
		t.Fatal(err)
	}
	first, err := stream.Recv()
	if err != nil {
		t.Fatal(err)
	}
	task := first.GetTask().GetId()

	item := r.waits(rosa, reviewv1.State_STATE_OPEN)
	if item.GetRootTaskId() != task || item.GetRequester() != "acme/ada" || item.GetPlaybook() != "approval" || item.GetStep() != "person" || !item.GetMayDecide() {
		t.Errorf("the item is %v", item)
	}
	if code, raw := r.reviewing(ada, "GET", "items", nil); code != http.StatusForbidden {
		t.Errorf("ada sees reviews: %d %s", code, raw)
	}
	if code, raw := r.reviewing(rosa, "POST", "items/"+item.GetId()+":ask", map[string]any{"question": "To whom?"}); code != http.StatusOK {
		t.Fatalf("%d %s", code, raw)
	}
	// The stream ends with the question; the answer goes to the task.
	asked := ""
	for {
		ev, err := stream.Recv()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if s := ev.GetStatusUpdate().GetStatus(); s.GetState() == a2apb.TaskState_TASK_STATE_INPUT_REQUIRED {
			asked = agent.TextOf(s.GetMessage().GetParts())
		}
	}
	if !strings.Contains(asked, "To whom?") {
		t.Errorf("the client is asked %q", asked)
	}
	follow := ask("To Mr Rao.")
	follow.Message.TaskId = task
	stream, err = r.a2a.SendStreamingMessage(metadata.AppendToOutgoingContext(t.Context(), "a2a-version", "1.0", "x-api-key", ada), follow)
	if err != nil {
		t.Fatal(err)
	}
	item = r.waits(rosa, reviewv1.State_STATE_OPEN)
	if item.GetHolder() != "acme/rosa" {
		t.Errorf("after the answer %q holds it", item.GetHolder())
	}
	decision := map[string]any{"digest": item.GetDigest(), "approve": true, "edited": "Dear Mr Rao"}
	if code, raw := r.reviewing(rosa, "POST", "items/"+item.GetId()+":decide", decision); code != http.StatusOK {
		t.Fatalf("%d %s", code, raw)
	}
	var last a2apb.TaskState
	text := ""
	for {
		ev, err := stream.Recv()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if s := ev.GetStatusUpdate().GetStatus(); s != nil {
			last = s.GetState()
		}
		if a := ev.GetArtifactUpdate().GetArtifact(); a != nil {
			text = agent.TextOf(a.GetParts())
		}
	}
	if last != a2apb.TaskState_TASK_STATE_COMPLETED || text != "Dear Mr Rao" {
		t.Errorf("the stream ends as %s with %q", last, text)
	}
}
