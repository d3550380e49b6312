package assembly_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"

	"sabha.dev/chassis/agent"
	"sabha.dev/testrig/modeltest"
)

// The whole path: an answer that is not sure enough waits in the queue, a reviewer puts
// it right, and the client's stream, which was open all the time, ends completed.
func TestAReviewerPutsAnAnswerRight(t *testing.T) {
	m := modeltest.New(t, modeltest.Always(modeltest.Reply{Text: "Backups of the customer database are taken every two weeks [1]."}))
	r := start(t, withModel(m))
	rita := r.key("rita", "acme", "reviewer")
	stream, err := r.a2a.SendStreamingMessage(r.ctx(), ask(question))
	if err != nil {
		t.Fatal(err)
	}
	var text string
	var last a2apb.TaskState
	for {
		ev, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if a := ev.GetArtifactUpdate(); a != nil {
			text = agent.TextOf(a.GetArtifact().GetParts())
		}
		if u := ev.GetStatusUpdate(); u != nil && u.GetStatus().GetState() != last {
			if last = u.GetStatus().GetState(); last == a2apb.TaskState_TASK_STATE_AUTH_REQUIRED {
				r.approve(rita, "Backups are taken every six hours [1].")
			}
		}
	}
	if last != completed || text != "Backups are taken every six hours [1]." {
		t.Fatalf("the stream ended %s with %q", last, text)
	}
}

// approve approves the one item there is, with an edit, after a look at its evidence.
func (r *rig) approve(key, edited string) {
	r.t.Helper()
	code, list := r.call(key, http.MethodGet, "/v1/review/items", "")
	items, _ := list["items"].([]any)
	if code != http.StatusOK || len(items) != 1 {
		r.t.Fatalf("%d %v", code, list)
	}
	item := items[0].(map[string]any)
	id, digest := item["id"].(string), item["digest"].(string)
	code, answer := r.call(key, http.MethodGet, "/v1/review/items/"+id, "")
	detail, _ := answer["detail"].(map[string]any)
	if code != http.StatusOK || detail["request"] != question || len(detail["sources"].([]any)) == 0 || len(detail["reasons"].([]any)) == 0 {
		r.t.Fatalf("%d %v", code, answer)
	}
	if content, _ := detail["content"].(string); !strings.Contains(content, "two weeks") {
		r.t.Fatalf("to be decided on: %v", detail["content"])
	}
	code, answer = r.call(key, http.MethodPost, "/v1/review/items/"+id+":decide", `{"digest":"`+digest+`","approve":true,"edited":"`+edited+`"}`)
	if code != http.StatusOK {
		r.t.Fatalf("%d %v", code, answer)
	}
}
