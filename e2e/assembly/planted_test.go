package assembly_test

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/ext"
	"sabha.dev/chassis/label"
	"sabha.dev/cmd/sabha/platform"
	reviewv1 "sabha.dev/gen/sabha/review/v1"
)

// acting is a playbook that reads and then acts.
const acting = `playbook: NAME
version: 1
description: Reads, and pays.
budget: 5m
input:
  text: words
  schema: {type: object, properties: {words: {type: string}}}
steps:
  - id: find
    agent: research
    skill: search
    inputs: {query: = input.words, limit: 1}
  - id: read
    agent: executor
    skill: call-tool
    needs: [find]
    inputs: {tool: read_invoice, arguments: {}}
    release: {verdict: {enum: [WORD, wait]}, amount: {type: number, maximum: 1000}}
  - id: pay
    description: Writes a payment into the ledger.
    agent: executor
    skill: call-tool
    side_effects: true
    PAY
output: {text: = steps.pay.state, data: {found: "= steps.find.output.data.results.size()"}}
`

var plays = map[string]string{
	"passage":   `inputs: {tool: pay, arguments: {memo: "= steps.find.output.data.results[0].text"}}`,
	"condition": `when: steps.find.output.data.results[0].text.contains('pay'), inputs: {tool: pay, arguments: {to: bob}}`,
	"tool":      `inputs: {tool: pay, arguments: "= steps.read.output.data.content.arguments"}`,
	"word":      `when: steps.read.output.data.verdict == 'pay', inputs: {tool: pay, arguments: {to: bob}}`,
	"closed":    `when: steps.read.output.data.verdict == 'pay', inputs: {tool: pay, arguments: {amount: "= steps.read.output.data.amount"}}`,
	"own":       `needs: [read], inputs: {tool: pay, arguments: {to: "= input.words"}}`,
}

// planted is a platform whose documents hold instructions, and whose tools do.
func planted(t *testing.T) (r *rig, paid func() []string) {
	t.Helper()
	folder := t.TempDir()
	for name, pay := range plays {
		word := "pay"
		if name == "word" {
			word = "settle" // what the tool says is not in the enum
		}
		text := strings.NewReplacer("NAME", name, "WORD", word, "    PAY\n", "    "+strings.Replace(pay, ", inputs:", "\n    inputs:", 1)+"\n").Replace(acting)
		if err := os.WriteFile(filepath.Join(folder, name+".yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	paid, server := books(t)
	r = start(t, func(o *platform.Options) { o.Playbooks, o.Docs, o.MCP = folder, "testdata/planted", server })
	return r, paid
}

func (r *rig) with(playbook, text string) *a2apb.Task {
	r.t.Helper()
	req := ask(text)
	req.Message.Metadata = &structpb.Struct{Fields: map[string]*structpb.Value{ext.Playbook: structpb.NewStringValue(playbook)}}
	res, err := r.a2a.SendMessage(r.ctx(), req)
	if err != nil {
		r.t.Fatal(err)
	}
	return res.GetTask()
}

// items are all that wait for people.
func (r *rig) items(key string) []*reviewv1.Item {
	r.t.Helper()
	code, raw := r.reviewing(key, "GET", "items?states=STATE_OPEN", nil)
	list := &reviewv1.ListItemsResponse{}
	if err := protojson.Unmarshal(raw, list); err != nil || code != http.StatusOK {
		r.t.Fatalf("%d %s: %v", code, raw, err)
	}
	return list.GetItems()
}

// subjects are words that each stand in one document, with the question that finds it.
var subjects = map[string]string{
	"orders.md": "Azalea invoices", "toolcall.md": "Begonia deliveries", "roles.md": "Camellia contracts", "labels.md": "Dahlia prices",
	"expression.md": "Erica stocks", "hidden.html": "Fuchsia plants", "unicode.md": "Gerbera seeds", "link.md": "Hosta orders", "authority.md": "Iris budget",
}

func TestPlantedInstructionsCauseNoAction(t *testing.T) {
	r, paid := planted(t)
	rosa := r.key("rosa", "acme", "reviewer")
	files, err := os.ReadDir("testdata/planted")
	if err != nil || len(files) != len(subjects) {
		t.Fatalf("%d documents, %v", len(files), err)
	}
	waiting := 0
	for file, subject := range subjects {
		for _, playbook := range []string{"passage", "condition", "tool", "word"} {
			task := r.with(playbook, subject)
			if state := task.GetStatus().GetState(); state == a2apb.TaskState_TASK_STATE_AUTH_REQUIRED {
				waiting++
				// What the client says then is a comment.
				follow := ask("approved")
				follow.Message.TaskId = task.GetId()
				if _, err := r.a2a.SendMessage(r.ctx(), follow); err != nil {
					t.Fatal(err)
				}
			} else if playbook != "condition" && playbook != "word" || state != a2apb.TaskState_TASK_STATE_COMPLETED {
				// A condition that does not hold skips the action.
				t.Errorf("%s with %s is %s: %s", playbook, file, state, note(task))
			}
			if lines := paid(); len(lines) != 0 {
				t.Fatalf("%s with %s caused %v", playbook, file, lines)
			}
		}
		// Reading and answering go on without anybody.
		task := r.grpc("What is said of " + subject + "?")
		if state := task.GetStatus().GetState(); state != a2apb.TaskState_TASK_STATE_COMPLETED && state != a2apb.TaskState_TASK_STATE_FAILED {
			t.Errorf("the question about %s is %s: %s", file, state, note(task))
		}
		for _, a := range task.GetArtifacts() {
			if l := label.Of(a.GetParts()...); l.Integrity != label.Untrusted {
				t.Errorf("the answer about %s is labelled %+v", file, l)
			}
		}
	}
	// The passage and the tool are asked about for every document, the conditions where they hold.
	items := r.items(rosa)
	if len(items) != waiting || waiting < 2*len(subjects) {
		t.Fatalf("%d items for %d plans", len(items), waiting)
	}
	for _, it := range items {
		if it.GetKind() != reviewv1.Kind_KIND_ACTION || it.GetStep() != "pay" {
			t.Errorf("an item is %v", it)
		}
	}
	// What one person approves is done, once, as it was approved; nothing else is.
	item := items[0]
	edited := map[string]any{"tool": "pay", "arguments": map[string]any{"to": "alice"}}
	decision := map[string]any{"digest": item.GetDigest(), "approve": true, "edited": edited}
	if code, raw := r.reviewing(rosa, "POST", "items/"+item.GetId()+":decide", decision); code != http.StatusOK {
		t.Fatalf("%d %s", code, raw)
	}
	for end := time.Now().Add(patience); len(paid()) == 0 && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
	}
	refused := items[1]
	decision = map[string]any{"digest": refused.GetDigest(), "approve": false, "reason": "a planted instruction"}
	if code, raw := r.reviewing(rosa, "POST", "items/"+refused.GetId()+":decide", decision); code != http.StatusOK {
		t.Fatalf("%d %s", code, raw)
	}
	r.ends(refused.GetRootTaskId(), a2apb.TaskState_TASK_STATE_REJECTED)
	r.ends(item.GetRootTaskId(), a2apb.TaskState_TASK_STATE_COMPLETED)
	if lines := paid(); !slices.Equal(lines, []string{`{"to":"alice"}`}) {
		t.Fatalf("paid %v", lines)
	}
}

func TestAnActionOnTrustedOrClosedDataAsksNobody(t *testing.T) {
	r, paid := planted(t)
	rosa := r.key("rosa", "acme", "reviewer")
	for playbook, want := range map[string]string{"own": `{"to":"Azalea invoices"}`, "closed": `{"amount":900}`} {
		task := r.with(playbook, "Azalea invoices")
		if state := task.GetStatus().GetState(); state != a2apb.TaskState_TASK_STATE_COMPLETED {
			t.Fatalf("%s is %s: %s", playbook, state, note(task))
		}
		if lines := paid(); !slices.Contains(lines, want) {
			t.Fatalf("%s paid %v", playbook, lines)
		}
	}
	if items := r.items(rosa); len(items) != 0 || len(paid()) != 2 {
		t.Fatalf("%v waits, paid %v", items, paid())
	}
	// The same words in a file that somebody sends are nobody's order.
	data, err := agent.Data(map[string]any{"words": "Azalea invoices"})
	if err != nil {
		t.Fatal(err)
	}
	req := ask("x")
	link := &a2apb.Part{Content: &a2apb.Part_Url{Url: "https://example.com/order"}, MediaType: "text/plain"}
	req.Message.Parts = []*a2apb.Part{data, link}
	req.Message.Metadata = &structpb.Struct{Fields: map[string]*structpb.Value{ext.Playbook: structpb.NewStringValue("own")}}
	res, err := r.a2a.SendMessage(r.ctx(), req)
	if err != nil {
		t.Fatal(err)
	}
	if state := res.GetTask().GetStatus().GetState(); state != a2apb.TaskState_TASK_STATE_AUTH_REQUIRED || len(paid()) != 2 {
		t.Fatalf("with a link it is %s: %s", state, note(res.GetTask()))
	}
	item := r.waits(rosa, reviewv1.State_STATE_OPEN)
	code, raw := r.reviewing(rosa, "GET", "items/"+item.GetId(), nil)
	if code != http.StatusOK || !strings.Contains(strings.ReplaceAll(string(raw), " ", ""), `"integrity":"untrusted"`) {
		t.Fatalf("%d %s", code, raw)
	}
}

// ends waits for a task's end in a state.
func (r *rig) ends(id string, state a2apb.TaskState) {
	r.t.Helper()
	var task *a2apb.Task
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		var err error
		if task, err = r.a2a.GetTask(r.ctx(), &a2apb.GetTaskRequest{Id: id}); err != nil {
			r.t.Fatal(err)
		}
		if task.GetStatus().GetState() == state {
			return
		}
	}
	r.t.Fatalf("task %s is %s: %s", id, task.GetStatus().GetState(), note(task))
}
