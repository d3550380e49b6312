package playbook

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// shipped reads a playbook of the repository's playbooks folder.
func shipped(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "playbooks", name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestShippedPlaybooksAreValid(t *testing.T) {
	files, err := filepath.Glob("../../../playbooks/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no playbooks found: %v", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		p, err := Parse(filepath.Base(file), []byte(shipped(t, name)), Personas())
		if err != nil {
			t.Error(err)
		} else if p.Name != name && p.Name+"@"+string(p.Version) != name {
			t.Errorf("%s holds the playbook %q", file, p.Name)
		}
	}
}

func TestGeneralAnswersWithCitations(t *testing.T) {
	s := begin(t, shipped(t, "general"), "Who owns a task?", nil)
	s.expect(`start investigate@0 {"limit":5,"query":"Who owns a task?"}; start recall@0 {"limit":5,"query":"Who owns a task?"}`)
	s.settles("recall", StepRun{State: Failed, Reason: "memory is not reachable"})
	s.completes("investigate", "", map[string]any{"results": []any{map[string]any{"text": "The storing replica owns it."}}})
	s.expect(`start draft@0 {"feedback":[],"memories":[],"passages":[{"text":"The storing replica owns it."}],"question":"Who owns a task?"}`)
	s.completes("draft", "The storing replica owns it. [1]", map[string]any{"answered": true, "method": "extractive", "passages": []any{map[string]any{"id": "1"}}, "citations": []any{map[string]any{"marker": 1.0}}})
	s.expect(`start validate@0 {"answer":"The storing replica owns it. [1]","passages":[{"id":"1"}],"product":"general","risk":"low"}`)
	s.completes("validate", "", map[string]any{"confidence": 0.95, "verdict": "pass", "reasons": []any{"1 of 1 claims is supported"}})
	s.expect(`skip review; done "The storing replica owns it. [1]" {"citations":[{"marker":1}],"confidence":0.95,"edited":false,"method":"extractive","model":"","reasons":["1 of 1 claims is supported"],"reviewed":false}`)
}

func TestGeneralGivesWhatTheReviewerMadeOfIt(t *testing.T) {
	s := begin(t, shipped(t, "general"), "Who owns a task?", nil)
	s.completes("recall", "", nil)
	s.completes("investigate", "", nil)
	s.completes("draft", "Nobody. [1]", map[string]any{"answered": true, "method": "extractive", "passages": []any{}})
	s.completes("validate", "", map[string]any{"confidence": 0.3})
	s.completes("review", "", map[string]any{"decision": "approved", "content": "The replica that stored it.", "edited": true, "original": "Nobody. [1]"})
	s.expect(`done "The replica that stored it." {"citations":[],"confidence":0.3,"edited":true,"method":"extractive","model":"","reasons":[],"reviewed":true}`)
}

func TestGeneralSaysWhyItCannotAnswer(t *testing.T) {
	s := begin(t, shipped(t, "general"), "Who won?", nil)
	s.completes("recall", "", nil)
	s.completes("investigate", "", map[string]any{"results": []any{}})
	s.completes("draft", "No passage answers this question.", map[string]any{"answered": false, "method": "extractive", "passages": []any{}})
	s.expect(`fail validate BELOW_THRESHOLD: No passage answers this question.`)
}

func TestGeneralRevisesOnlyWhatAModelWrote(t *testing.T) {
	for method, want := range map[string]string{
		"extractive": `start review@0 {"content":"Someone. [1]","effect":"The answer is given to whoever asked."}`,
		"model":      `revise validate round 1 [draft validate]; start draft@1 {"feedback":["claim 1 is not supported"],"memories":[],"passages":[],"question":"Who?"}`,
	} {
		t.Run(method, func(t *testing.T) {
			s := begin(t, shipped(t, "general"), "Who?", nil)
			s.completes("recall", "", nil)
			s.completes("investigate", "", nil)
			s.completes("draft", "Someone. [1]", map[string]any{"answered": true, "method": method, "passages": []any{}})
			s.completes("validate", "", map[string]any{"confidence": 0.3, "verdict": "fail", "reasons": []any{"claim 1 is not supported"}})
			s.expect(want)
		})
	}
}

func TestComputeChecksTheSnippetsResult(t *testing.T) {
	rule := map[string]any{"name": "answer", "expression": "data == 42"}
	s := begin(t, shipped(t, "compute"), "", map[string]any{"code": "6 * 7", "assertions": []any{rule}})
	s.expect(`start run@0 {"code":"6 * 7","inputs":{}}`)
	s.completes("run", "6 * 7 = 42", map[string]any{"value": 42.0})
	s.expect(`start validate@0 {"answer":"6 * 7 = 42\nThe result is ` + "`42`" + ` [1].","assertions":[{"expression":"data == 42","name":"answer"}],"computations":[],"data":42,"passages":[{"document":"the snippet's result","id":"run","text":"6 * 7 = 42\nThe result is ` + "`42`" + `."}],"product":"compute","risk":"low"}`)
	s.completes("validate", "", map[string]any{"confidence": 1.0, "verdict": "pass"})
	s.expect(`done "42" {"confidence":1,"printed":"6 * 7 = 42","reasons":[],"result":42}`)
}

func TestComputeGivesObjectsAsTheyAre(t *testing.T) {
	s := begin(t, shipped(t, "compute"), "", map[string]any{"code": "{}"})
	s.completes("run", "", map[string]any{"b": []any{1.0, 2.5}, "a": "x"})
	s.completes("validate", "", map[string]any{"confidence": 0.9})
	s.expect(`done "{\"a\":\"x\",\"b\":[1,2.5]}" {"confidence":0.9,"printed":"","reasons":[],"result":{"a":"x","b":[1,2.5]}}`)
}
