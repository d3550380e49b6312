package border_test

import (
	"errors"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/clock"
	"sabha.dev/chassis/disclosure"
	"sabha.dev/chassis/sqldb"
	"sabha.dev/services/partners/internal/a2aagent"
	"sabha.dev/services/partners/internal/agreement"
	"sabha.dev/services/partners/internal/border"
	"sabha.dev/services/partners/internal/crossing"
	"sabha.dev/services/partners/internal/partner"
	"sabha.dev/services/partners/migrations"
)

const text = `partner: underwriter
version: 3
owner: partnerships@bank.example
review_date: 2099-06-30
organisation: Underwriter plc
disclosure:
  rules:
    - {name: by us, classes: [email], action: tokenise}
    - {name: hidden, classes: [iban], action: mask}
skills:
  underwrite: {}
  publish: {}
`

func parse(t *testing.T, text string) *agreement.Agreement {
	t.Helper()
	a, err := agreement.Parse("underwriter.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func crossingOf(a *agreement.Agreement) a2aagent.Crossing {
	return a2aagent.Crossing{
		Terms: a.Terms("underwrite"), Partner: &partner.Partner{ID: "underwriter", Organisation: "Underwriter plc"},
		TaskID: "t2", RootTaskID: "t1", Message: "t2/0/0",
	}
}

func open(t *testing.T) *sqldb.DB {
	t.Helper()
	db, err := sqldb.Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "p.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if err := sqldb.Migrate(t.Context(), db, "partners", migrations.Files); err != nil {
		t.Fatal(err)
	}
	return db
}

func ledger(t *testing.T, db *sqldb.DB) *crossing.Ledger {
	t.Helper()
	l, err := crossing.Open(t.Context(), db, nil)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestWhatLeavesIsWhatTheAgreementSaysAndIsOnRecord(t *testing.T) {
	db := open(t)
	b, c := border.New(clock.System{}, ledger(t, db)), crossingOf(parse(t, text))
	cleared, err := b.Leave(t.Context(), c, []*a2apb.Part{agent.Text("Write to ada@example.org, account DE89370400440532013000.")})
	if err != nil {
		t.Fatal(err)
	}
	leaves := agent.TextOf(cleared.Parts)
	if cleared.Refused != "" || strings.Contains(leaves, "ada@") || strings.Contains(leaves, "DE8937") || !strings.Contains(leaves, "[[tok:email:") {
		t.Fatalf("%q leaves (%s)", leaves, cleared.Refused)
	}
	token := leaves[strings.Index(leaves, "[[") : strings.Index(leaves, "]]")+2]
	came, record, err := b.Arrive(t.Context(), c, cleared.Sealed, []*a2apb.Part{agent.Text("We wrote to " + token + ".")})
	if err != nil || agent.TextOf(came) != "We wrote to ada@example.org." {
		t.Errorf("%q came (%v)", agent.TextOf(came), err)
	}
	for range 2 { // a transaction may have to be repeated
		tx, err := db.Write.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(cleared.Record.Rows(t.Context(), tx), record.Rows(t.Context(), tx), tx.Commit()); err != nil {
			t.Fatal(err)
		}
	}
	list, err := ledger(t, db).List(t.Context(), crossing.Filter{Task: "t1", Limit: 10})
	if err != nil || len(list) != 2 {
		t.Fatalf("%v: %+v", err, list)
	}
	for _, x := range list {
		if x.Partner != "underwriter" || x.Skill != "underwrite" || !strings.HasPrefix(x.Policy, "3/") || (x.Direction == crossing.Out) != (len(x.Findings) == 2) {
			t.Errorf("%+v", x)
		}
	}
}

func TestWithoutASectionNothingSensitiveLeaves(t *testing.T) {
	bare := text[:strings.Index(text, "disclosure:")] + text[strings.Index(text, "skills:"):]
	cleared, err := border.New(clock.System{}, ledger(t, open(t))).Leave(t.Context(), crossingOf(parse(t, bare)), []*a2apb.Part{agent.Text("Write to ada@example.org.")})
	if err != nil || cleared.Refused == "" || cleared.Parts != nil || strings.Contains(cleared.Refused, "ada@") {
		t.Errorf("%+v, %v", cleared, err)
	}
	if cleared.Record == nil {
		t.Error("a refusal is not on record")
	}
}

func TestFinancesLeaveForTheirPurposeWithConsent(t *testing.T) {
	db := open(t)
	graded := strings.Replace(text, "rules:\n", `consent: [finances]
  rules:
    - {name: to grade, classes: [finances], when: purpose == "mortgage-underwriting", action: allow}
`, 1)
	b, c := border.New(clock.System{}, ledger(t, db)), crossingOf(parse(t, graded))
	data, err := agent.Data(map[string]any{"salary": 52000})
	if err != nil {
		t.Fatal(err)
	}
	agreed := disclosure.Purpose{Name: "mortgage-underwriting", Consent: "t1/agreed"}
	for i, k := range []struct {
		of   disclosure.Purpose
		says string // the refusal; "": it leaves
	}{
		{agreed, ""},
		{disclosure.Purpose{Name: "mortgage-underwriting"}, `there is none to "mortgage-underwriting"; have a step before it record one`},
		{disclosure.Purpose{Name: "marketing", Consent: "t1/agreed"}, "finances in part 1 salary"},
		{disclosure.Purpose{Consent: "t1/agreed"}, "finances in part 1 salary"},
		{disclosure.Purpose{}, "finances in part 1 salary"},
	} {
		c.Purpose, c.Message = k.of, "t2/0/"+strconv.Itoa(i)
		cleared, err := b.Leave(t.Context(), c, []*a2apb.Part{data})
		if err != nil {
			t.Fatal(err)
		}
		if (cleared.Refused == "") != (k.says == "") || !strings.Contains(cleared.Refused, k.says) || (len(cleared.Parts) == 1) != (k.says == "") {
			t.Errorf("for %+v the refusal is %q, want %q", k.of, cleared.Refused, k.says)
		}
		tx, err := db.Write.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(cleared.Record.Rows(t.Context(), tx), tx.Commit()); err != nil {
			t.Fatal(err)
		}
	}
	list, err := ledger(t, db).List(t.Context(), crossing.Filter{Task: "t1", Limit: 10})
	if err != nil || len(list) != 5 {
		t.Fatalf("%v: %+v", err, list)
	}
	for _, x := range list {
		if x.ID == "out/t2/0/0" && (x.Purpose != agreed || x.Refused) || x.ID == "out/t2/0/1" && (x.Purpose.Consent != "" || !x.Refused) {
			t.Errorf("on record is %+v", x)
		}
	}
}

func TestWithoutAPurposeTheRefusalAsksForOne(t *testing.T) {
	asks := strings.Replace(text, "rules:\n", "consent: [email]\n  rules:\n", 1)
	cleared, err := border.New(clock.System{}, ledger(t, open(t))).Leave(t.Context(), crossingOf(parse(t, asks)), []*a2apb.Part{agent.Text("Write to ada@example.org.")})
	if err != nil || !strings.Contains(cleared.Refused, "no purpose is stated; state purpose and consent in the step that sends it") {
		t.Errorf("%q, %v", cleared.Refused, err)
	}
}
