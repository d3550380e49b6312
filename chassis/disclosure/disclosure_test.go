package disclosure_test

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"sabha.dev/chassis/disclosure"
	"sabha.dev/chassis/ext"
	"sabha.dev/chassis/label"
	"sabha.dev/chassis/strictyaml"
)

func policy(t testing.TB, text string) *disclosure.Policy {
	t.Helper()
	var p *disclosure.Policy
	if err := strictyaml.Parse("policy.yaml", []byte(text), func(root strictyaml.Node) { p = disclosure.Parse(root) }); err != nil {
		t.Fatal(err)
	}
	return p
}

// part reads a part as A2A writes it in JSON.
func part(t testing.TB, text string) *a2apb.Part {
	t.Helper()
	p := &a2apb.Part{}
	if err := protojson.Unmarshal([]byte(text), p); err != nil {
		t.Fatal(err)
	}
	return p
}

func written(t testing.TB, p *a2apb.Part) string {
	t.Helper()
	raw, err := protojson.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	raw, _ = json.Marshal(v)
	return string(raw)
}

func outbound(t testing.TB, p *disclosure.Policy, to disclosure.Recipient, parts ...*a2apb.Part) disclosure.Result {
	t.Helper()
	var before []string
	for _, part := range parts {
		before = append(before, written(t, part))
	}
	r, err := p.Outbound(context.Background(), to, parts)
	if err != nil {
		t.Fatal(err)
	}
	for i, part := range parts {
		if got := written(t, part); got != before[i] {
			t.Errorf("the part itself was changed to %s", got)
		}
	}
	return r
}

var underwriter = disclosure.Recipient{Partner: "underwriter", Organisation: "Underwriter plc", Skill: "underwrite", Purpose: "mortgage"}

const everyAction = `
default: refuse
rules:
  - {name: reach them through us, classes: [email, phone], action: tokenise}
  - {name: last digits, classes: card, action: mask}
  - {name: no secrets, classes: secret, action: drop}
  - {name: figures to the underwriter, classes: [finances, date-of-birth], when: 'recipient.skill == "underwrite" && path.startsWith("applicant.")', action: allow}
`

func TestEachActionGivesItsForm(t *testing.T) {
	p := policy(t, everyAction)
	r := outbound(t, p, underwriter,
		part(t, `{"text":"Mail anna@example.com, card 4111 1111 1111 1111, password=hunter22!"}`),
		part(t, `{"data":{"applicant":{"income":52000,"dateOfBirth":"1980-01-01","phones":["2125550123","none"],"email":"anna@example.com"},"password":"correct horse","list":[{"cvv":"123"},7]}}`),
	)
	if r.Refused != "" {
		t.Fatal(r.Refused)
	}
	text := r.Parts[0].GetText()
	if !strings.HasPrefix(text, "Mail [[tok:email:") || !strings.HasSuffix(text, "]], card **** **** **** 1111, password=") {
		t.Error(text)
	}
	data := written(t, r.Parts[1])
	for _, want := range []string{`"dateOfBirth":"1980-01-01"`, `"income":52000`, `"list":[{},7]`, `"phones":["[[tok:phone:`, `"none"`} {
		if !strings.Contains(data, want) {
			t.Errorf("%s is not in %s", want, data)
		}
	}
	for _, value := range []string{"anna@", "2125550123", "correct horse", `"123"`} {
		if strings.Contains(text+data, value) {
			t.Errorf("%s leaves: %s %s", value, text, data)
		}
	}
	var got []string
	for _, f := range r.Findings {
		got = append(got, fmt.Sprintf("%d %s %s %s by %s", f.Part, f.Path, f.Class, f.Action, f.Rule))
	}
	want := []string{
		"0  email tokenise by reach them through us",
		"0  card mask by last digits",
		"0  secret drop by no secrets",
		"1 applicant.dateOfBirth date-of-birth allow by figures to the underwriter",
		"1 applicant.email email tokenise by reach them through us",
		"1 applicant.income finances allow by figures to the underwriter",
		"1 applicant.phones[0] phone tokenise by reach them through us",
		"1 list[0].cvv secret drop by no secrets",
		"1 password secret drop by no secrets",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%q", got)
	}
	if want := (label.Labels{Confidentiality: label.Sensitive, Classes: []string{"date-of-birth", "finances"}}); !reflect.DeepEqual(r.Labels, want) {
		t.Errorf("what leaves is labelled %+v", r.Labels)
	}
}

func TestTokensAreResolvedInTheAnswerOfTheirCrossingOnly(t *testing.T) {
	p := policy(t, "default: tokenise")
	ask := part(t, `{"data":{"phone":2125550123,"email":"anna@example.com","note":"anna@example.com"}}`)
	one, other := outbound(t, p, underwriter, ask), outbound(t, p, underwriter, ask)
	echo := one.Parts[0]
	restored := one.Restore([]*a2apb.Part{echo})[0]
	if got := written(t, &a2apb.Part{Content: restored.Content}); got != `{"data":{"email":"anna@example.com","note":"anna@example.com","phone":2125550123}}` {
		t.Error(got)
	}
	if got, want := label.Of(restored), (label.Labels{Confidentiality: label.Sensitive, Classes: []string{"email", "phone"}}); !reflect.DeepEqual(got, want) {
		t.Errorf("labelled %+v", got)
	}
	if got := other.Restore([]*a2apb.Part{echo})[0]; !proto.Equal(got, echo) {
		t.Errorf("tokens of another crossing are resolved: %s", written(t, got))
	}
	fields := echo.GetData().GetStructValue().Fields
	token := fields["email"].GetStringValue()
	if token != fields["note"].GetStringValue() {
		t.Error("the same value has two tokens")
	}
	// As models write them: in capitals, with other brackets.
	loose := part(t, `{"text":"Write to `+strings.ToUpper(strings.Trim(token, "[]"))+`."}`)
	if got := one.Restore([]*a2apb.Part{loose})[0].GetText(); got != "Write to anna@example.com." {
		t.Error(got)
	}
	// Tokens outlive a restart.
	raw, _ := json.Marshal(one.Tokens)
	var kept disclosure.Tokens
	if err := json.Unmarshal(raw, &kept); err != nil {
		t.Fatal(err)
	}
	if got, _ := kept.Text("to " + token); got != "to anna@example.com" {
		t.Error(got)
	}
}

func TestNothingSensitiveLeavesWithoutAPolicy(t *testing.T) {
	var none *disclosure.Policy
	r := outbound(t, none, underwriter, part(t, `{"text":"ok"}`), part(t, `{"data":{"ssn":"219-09-9998"}}`))
	want := "the disclosure policy for underwriter/underwrite does not let this leave: national-id (us-ssn) in part 2 ssn bytes 0-11; leave it out, or have the policy say in which form it may leave"
	if r.Refused != want || r.Parts != nil {
		t.Errorf("%q, %d parts", r.Refused, len(r.Parts))
	}
	if r := outbound(t, none, underwriter, part(t, `{"text":"Order 1234567890 of 2024-11-30"}`)); r.Refused != "" || r.Parts[0].GetText() != "Order 1234567890 of 2024-11-30" {
		t.Errorf("%+v", r)
	}
}

func TestLabelsBoundWhatLeaves(t *testing.T) {
	labelled := func(l label.Labels) *a2apb.Part { return l.Put(part(t, `{"text":"He was told on Monday."}`)) }
	sensitive := label.Labels{Integrity: label.Untrusted, Confidentiality: label.Sensitive}
	health := sensitive
	health.Classes = []string{"email", "health"}
	for name, c := range map[string]struct {
		policy  string
		part    *a2apb.Part
		text    string // what leaves
		refused string
	}{
		"internal by default":        {"default: refuse", labelled(label.Labels{Confidentiality: label.Internal}), "He was told on Monday.", ""},
		"public only":                {"confidentiality: public", labelled(label.Labels{Confidentiality: label.Internal}), "", "labelled in part 1"},
		"sensitive without a reason": {"default: refuse", labelled(sensitive), "", "labelled in part 1"},
		"all of it":                  {"confidentiality: sensitive", labelled(sensitive), "He was told on Monday.", ""},
		"a class no detector sees":   {"rules: [{classes: email, action: tokenise}]", labelled(health), "", "health in part 1"},
		"allowed by rule":            {"rules: [{classes: health, action: allow}]", labelled(health), "He was told on Monday.", ""},
		"masked as a whole":          {"rules: [{classes: health, action: mask}]", labelled(health), "[masked:health]", ""},
		"by its integrity":           {`rules: [{classes: labelled, when: 'labels.integrity == "untrusted"', action: allow}]`, labelled(sensitive), "He was told on Monday.", ""},
	} {
		r := outbound(t, policy(t, c.policy), underwriter, c.part)
		if (r.Refused != "") != (c.refused != "") || !strings.Contains(r.Refused, c.refused) {
			t.Errorf("%s: refused: %q", name, r.Refused)
			continue
		}
		if r.Refused == "" && (r.Parts[0].GetText() != c.text || r.Parts[0].GetMetadata().GetFields()[ext.Labels] != nil) {
			t.Errorf("%s: %s", name, written(t, r.Parts[0]))
		}
	}
}

func TestConsentIsToThePurpose(t *testing.T) {
	p := policy(t, "default: allow\nconsent: [national-id]\nrules: [{classes: finances, action: allow, consent: true}]")
	id, pay := part(t, `{"data":{"ssn":"219-09-9998"}}`), part(t, `{"data":{"salary":52000}}`)
	for name, c := range map[string]struct {
		to      disclosure.Recipient
		part    *a2apb.Part
		refused string
	}{
		"none":            {underwriter, id, `there is none to "mortgage"`},
		"by rule":         {underwriter, pay, `there is none to "mortgage"`},
		"to another":      {disclosure.Recipient{Purpose: "mortgage", Consents: []string{"marketing"}}, id, `there is none to "mortgage"`},
		"without purpose": {disclosure.Recipient{Consents: []string{"", "mortgage"}}, id, "no purpose is stated"},
		"given":           {disclosure.Recipient{Purpose: "mortgage", Consents: []string{"mortgage"}}, id, ""},
	} {
		r := outbound(t, p, c.to, c.part)
		if (r.Refused != "") != (c.refused != "") || !strings.Contains(r.Refused, c.refused) {
			t.Errorf("%s: refused: %q", name, r.Refused)
		}
	}
}

func TestFilesAreReadWhereTheyAreText(t *testing.T) {
	csv := part(t, `{"raw":"bmFtZSxlbWFpbApBbm4sYW5uQGV4YW1wbGUuY29tCg==","mediaType":"text/csv; charset=utf-8","filename":"people.csv"}`)
	asJSON := part(t, `{"raw":"eyJlbWFpbCI6ICJhbm5AZXhhbXBsZS5jb20iLCAieCI6IDF9","mediaType":"application/json"}`)
	pdf := part(t, `{"raw":"JVBERi0xLjcK/wA=","mediaType":"application/pdf"}`)
	link := part(t, `{"url":"https://files.example/a.pdf?password=hunter22x"}`)
	for name, c := range map[string]struct {
		policy        string
		part          *a2apb.Part
		want, refused string
	}{
		"a table":       {"default: mask", csv, "name,email\nAnn,a***[at]***.com\n", ""},
		"JSON":          {"default: mask", asJSON, `{"email":"a***[at]***.com","x":1}`, ""},
		"not readable":  {"default: mask", pdf, "", "unreadable in part 1: its content is no text"},
		"let through":   {"unreadable: allow", pdf, "%PDF-1.7\n\xff\x00", ""},
		"a link":        {"default: mask", link, "", "unreadable in part 1: what the URL leads to is not looked into"},
		"a link let by": {"{default: drop, unreadable: allow}", link, "https://files.example/a.pdf?password=", ""},
	} {
		r := outbound(t, policy(t, c.policy), underwriter, c.part)
		if (r.Refused != "") != (c.refused != "") || !strings.Contains(r.Refused, c.refused) {
			t.Errorf("%s: refused: %q", name, r.Refused)
			continue
		}
		if r.Refused != "" {
			continue
		}
		if got := string(r.Parts[0].GetRaw()) + r.Parts[0].GetUrl(); strings.ReplaceAll(got, `, "`, `,"`) != c.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestWhatIsBesideTheContentIsInspected(t *testing.T) {
	p := part(t, `{"text":"x","filename":"anna@example.com.txt","metadata":{"owner":{"ssn":"219-09-9998"},"anna@example.com":1}}`)
	r := outbound(t, policy(t, "default: mask"), underwriter, p)
	if got := written(t, r.Parts[0]); strings.Contains(got, "anna@") || strings.Contains(got, "219") {
		t.Error(got)
	}
	if len(r.Findings) != 3 || r.Findings[1].Path != "metadata.<key 1>" {
		t.Errorf("%+v", r.Findings)
	}
}

func TestRecordsNeverHoldValues(t *testing.T) {
	r := outbound(t, policy(t, "default: mask"), underwriter, part(t, `{"text":"anna@example.com 4111 1111 1111 1111"}`))
	raw, _ := json.Marshal(r.Findings)
	if strings.Contains(string(raw), "anna") || strings.Contains(string(raw), "1111") {
		t.Errorf("%s", raw)
	}
}
