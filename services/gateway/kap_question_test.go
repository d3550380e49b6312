package gateway_test

import (
	"fmt"
	"strings"
	"testing"

	"sabha.dev/services/gateway"
)

// kapTell is a request that answers the question of a task.
func kapTell(id, capability, input, task string) string {
	return fmt.Sprintf(`{"id":%q,"protocol":"kap/1.0","capability":%q,"input":%q,"context":{"threadId":"t","taskId":%q}}`, id, capability, input, task)
}

func TestAQuestionOfAnAgentIsAnsweredOverKAP(t *testing.T) {
	r := start(t, withKAP, func(c *gateway.Config) {
		c.KAP.Capabilities = append(c.KAP.Capabilities, gateway.KAPCapability{
			ID: "order", Name: "Order", Description: "Asks which", Skill: "which", InputSchema: map[string]any{"type": "object", "required": []any{"size"}},
		})
	})
	first := `{"id":"q1","protocol":"kap/1.0","capability":"order","input":"a hat","context":{"threadId":"t","metadata":{"size":5}}}`
	asked := r.kap(t, r.operator, first)
	task := asked.Metadata.TaskID
	if asked.code != 200 || asked.Status != "pending" || !strings.HasPrefix(asked.Output, "Which colour?") ||
		fmt.Sprint(asked.Data) != "map[answer:map[taskId:"+task+"] details:map[colours:[red blue]] question:Which colour? state:input-required]" {
		t.Fatalf("the question: %+v", asked)
	}
	if again := r.kap(t, r.operator, first); again.Status != "pending" || again.Data["question"] != "Which colour?" || again.Metadata.TaskID != task {
		t.Errorf("the first again: %+v", again)
	}
	if more := r.kap(t, r.operator, kapTell("q2", "order", "green", task)); more.Status != "pending" || more.RequestID != "q2" || more.Data["question"] != "Which colour?" {
		t.Errorf("an answer that does not do: %+v", more)
	}
	for name, c := range map[string]struct {
		key, body, says string
		code            int
	}{
		"another caller":   {r.newKey(t, "-subject", "bela"), kapTell("q3", "order", "red", task), "context.taskId: names no task of yours", 400},
		"no such task":     {r.operator, kapTell("q4", "order", "red", "none"), "context.taskId: names no task of yours", 400},
		"another body":     {r.operator, kapTell("q2", "order", "red", task), "", 409},
		"a wrong form":     {r.operator, `{"id":"q5","protocol":"kap/1.0","capability":"order","input":"red","context":{"taskId":7}}`, "context.taskId: must be a string", 400},
		"without an input": {r.operator, kapTell("q6", "order", "", task), "input: is missing", 400},
	} {
		if a := r.kap(t, c.key, c.body); a.code != c.code || a.Status != "error" || !strings.Contains(a.Output, c.says) {
			t.Errorf("%s: %+v", name, a)
		}
	}
	told := r.kap(t, r.operator, kapTell("q7", "order", "red", task))
	if told.code != 200 || told.Status != "success" || told.Output != "a red hat" || told.Metadata.TaskID != task {
		t.Errorf("the answer: %+v", told)
	}
	for name, body := range map[string]string{"the answer again": kapTell("q7", "order", "red", task), "the first again": first} {
		if a := r.kap(t, r.operator, body); a.Status != "success" || a.Output != "a red hat" {
			t.Errorf("%s: %+v", name, a)
		}
	}
	if late := r.kap(t, r.operator, kapTell("q8", "order", "blue", task)); late.code != 400 || !strings.Contains(late.Output, "context.taskId: is of a task that does not wait for an answer") {
		t.Errorf("an answer after the end: %+v", late)
	}
}
