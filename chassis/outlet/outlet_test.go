package outlet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/prometheus/client_golang/prometheus"
	"go.yaml.in/yaml/v3"

	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/label"
)

// rig is a way out whose log is kept.
type rig struct {
	*Outlet
	outlets  *Outlets
	registry *prometheus.Registry
	log      *bytes.Buffer
}

func open(t *testing.T, kind Kind, policy string) rig {
	t.Helper()
	var log bytes.Buffer
	registry := prometheus.NewRegistry()
	outlets, err := New(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})), registry)
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		Disclosure Policy `yaml:"disclosure"`
	}
	if err := yaml.Unmarshal([]byte(policy), &config); err != nil {
		t.Fatal(err)
	}
	o, err := outlets.Open("it", kind, config.Disclosure)
	if err != nil {
		t.Fatal(err)
	}
	return rig{o, outlets, registry, &log}
}

const letter = "Write to anna.berg@example.com about invoice 4711."

func refusal(t *testing.T, err error) string {
	t.Helper()
	var f *fault.Error
	if !errors.As(err, &f) || f.Reason != fault.PermissionDenied {
		t.Fatalf("got the error %v", err)
	}
	return f.Error()
}

func TestAModelGetsTokensAndItsAnswerTheValues(t *testing.T) {
	o := open(t, Model, "")
	sent, tokens, err := o.Text(t.Context(), Use{Task: "t1"}, letter+" The password: hunter2secret!")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(sent, "anna") || strings.Contains(sent, "hunter2") || !strings.Contains(sent, "[[tok:email:") || !strings.Contains(sent, "[masked:secret]") {
		t.Errorf("%q leaves", sent)
	}
	token := sent[strings.Index(sent, "[[") : strings.Index(sent, "]]")+2]
	if got, _ := tokens.Text("Ask " + token + " [1]."); got != "Ask anna.berg@example.com [1]." {
		t.Errorf("the answer is %q", got)
	}
	record := o.log.String()
	for _, want := range []string{"outlet=it", "kind=model", "task_id=t1", "outcome=changed", "email in part 1 bytes 9-30 tokenise by default", "secret in part 1"} {
		if !strings.Contains(record, want) {
			t.Errorf("the record has no %q: %s", want, record)
		}
	}
	if strings.Contains(record, "anna") || strings.Contains(record, "hunter2") {
		t.Errorf("the record holds a value: %s", record)
	}
	if got, want := counted(t, o), "sabha_outlet_findings_total mask secret it 1; sabha_outlet_findings_total tokenise email it 1; sabha_outlet_messages_total changed it 1"; got != want {
		t.Errorf("%s is counted, want %s", got, want)
	}
}

// counted gives the counters with the values of their labels, sorted.
func counted(t *testing.T, r rig) string {
	t.Helper()
	families, err := r.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, f := range families {
		for _, m := range f.GetMetric() {
			line := f.GetName()
			for _, l := range m.GetLabel() {
				line += " " + l.GetValue()
			}
			all = append(all, fmt.Sprintf("%s %v", line, m.GetCounter().GetValue()))
		}
	}
	slices.Sort(all)
	return strings.Join(all, "; ")
}

func TestTheDefaultsOfTheKinds(t *testing.T) {
	for kind, want := range map[Kind]string{
		Model: "[[tok:email:", Embeddings: "a***[at]***.com", Tools: "refused", Command: letter, Web: "refused", Webhook: letter,
	} {
		sent, _, err := open(t, kind, "").Text(t.Context(), Use{}, letter)
		if want == "refused" {
			if got, want := refusal(t, err), "the disclosure policy for it does not let this leave: email in part 1 bytes 9-30; leave it out, or have the policy say in which form it may leave"; got != want {
				t.Errorf("%s: %s", kind, got)
			}
		} else if err != nil || !strings.Contains(sent, want) {
			t.Errorf("%s: %q leaves (%v), want %q", kind, sent, err, want)
		}
	}
	if _, err := open(t, Model, "").outlets.Open("x", "printer", Policy{}); err == nil || err.Error() != `outlet: no kind "printer"` {
		t.Errorf("got %v", err)
	}
}

func TestAPolicyMayTellToolsApart(t *testing.T) {
	o := open(t, Tools, "disclosure: {rules: [{when: recipient.skill == 'send_mail', classes: email, action: allow}]}")
	raw := []byte(`{"to": "anna.berg@example.com", "id": 9007199254740993}`)
	sent, _, err := o.JSON(t.Context(), Use{Of: "send_mail"}, raw)
	if err != nil || !bytes.Equal(sent, raw) {
		t.Errorf("%s leaves (%v)", sent, err)
	}
	_, _, err = o.JSON(t.Context(), Use{Of: "search"}, raw)
	if got := refusal(t, err); !strings.Contains(got, "email in part 1 to bytes 0-21") {
		t.Error(got)
	}
}

func TestAChangedDocumentKeepsItsNumbersOrStays(t *testing.T) {
	o := open(t, Tools, "disclosure: {default: mask}")
	sent, _, err := o.JSON(t.Context(), Use{}, []byte(`{"to": "anna.berg@example.com", "id": 9007199254740991, "share": 0.125}`))
	if err != nil || !strings.Contains(string(sent), "9007199254740991") || strings.Contains(string(sent), "anna") {
		t.Errorf("%s leaves (%v)", sent, err)
	}
	for _, n := range []string{"9007199254740993", "123456789012345678901234567890", "0.12345678901234567"} {
		_, _, err := o.JSON(t.Context(), Use{}, []byte(`{"to": "anna.berg@example.com", "id": `+n+`}`))
		if got := refusal(t, err); !strings.Contains(got, "send the number as text") {
			t.Error(got)
		}
	}
}

func TestAURLLeavesAsItIsOrNotAtAll(t *testing.T) {
	o := open(t, Web, "")
	for _, url := range []string{"https://example.com/a?b=c", "http://10.1.2.3/wiki"} {
		if err := o.Exact(t.Context(), Use{}, url); err != nil {
			t.Errorf("%s: %v", url, err)
		}
	}
	if got := refusal(t, o.Exact(t.Context(), Use{}, "https://example.com/?mail=anna.berg@example.com")); !strings.Contains(got, "email in part 1 bytes 26-47") {
		t.Error(got)
	}
	masks := open(t, Web, "disclosure: {default: mask}")
	if got := refusal(t, masks.Exact(t.Context(), Use{}, "https://example.com/?mail=anna.berg@example.com")); !strings.Contains(got, "in another form only") {
		t.Error(got)
	}
}

func TestALabelRefusesATextInWhichNothingCanBeReplaced(t *testing.T) {
	health := label.Labels{Confidentiality: label.Sensitive, Classes: []string{"health"}}
	_, _, err := open(t, Model, "").Text(t.Context(), Use{Labels: health}, "He has been ill since May.")
	if got, want := refusal(t, err), "the disclosure policy for it does not let this leave: its label calls it health, and nothing in it can be replaced; leave it out, or have the policy allow it"; got != want {
		t.Error(got)
	}
	allows := open(t, Model, "disclosure: {rules: [{classes: health, action: allow}]}")
	if sent, _, err := allows.Text(t.Context(), Use{Labels: health}, "He has been ill since May."); err != nil || sent != "He has been ill since May." {
		t.Errorf("%q leaves (%v)", sent, err)
	}
	// What a label names and a detector finds is replaced where it is.
	email := label.Labels{Confidentiality: label.Sensitive, Classes: []string{"email"}}
	if _, _, err := open(t, Model, "").Text(t.Context(), Use{Labels: email}, letter); err != nil {
		t.Error(err)
	}
}

func TestNothingLeavesWhereAllIsDropped(t *testing.T) {
	health := label.Labels{Confidentiality: label.Sensitive, Classes: []string{"health"}}
	_, _, err := open(t, Tools, "disclosure: {default: drop}").Text(t.Context(), Use{Labels: health}, "He has been ill since May.")
	if got := refusal(t, err); !strings.Contains(got, "nothing in it can be replaced") {
		t.Error(got)
	}
}

func TestPartsStayAsTheyAre(t *testing.T) {
	parts := []*a2apb.Part{{Content: &a2apb.Part_Text{Text: letter}}}
	sent, tokens, err := open(t, Model, "").Parts(t.Context(), Use{Labels: label.Labels{Integrity: label.Untrusted}}, parts)
	if err != nil || len(sent) != 1 || len(tokens) != 1 || sent[0].GetMetadata() != nil {
		t.Errorf("%v leaves (%v)", sent, err)
	}
	if parts[0].GetText() != letter || parts[0].GetMetadata() != nil {
		t.Errorf("the part is %v", parts[0])
	}
}

func TestAPolicyIsCheckedWhereItIsWritten(t *testing.T) {
	var config struct {
		Disclosure Policy `yaml:"disclosure"`
	}
	err := yaml.Unmarshal([]byte("disclosure:\n  default: hide\n  rules:\n    - {classes: emial, action: allow}\n"), &config)
	for _, want := range []string{`disclosure:2: default: "hide" is unknown`, `disclosure:4: rules[0].classes: "emial" is unknown`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if !config.Disclosure.IsZero() {
		t.Error("a policy with problems is used")
	}
}

func TestTheContextEndsADecision(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := open(t, Model, "").Text(ctx, Use{}, letter); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
