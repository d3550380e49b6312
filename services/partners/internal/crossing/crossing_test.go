package crossing_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/types/known/timestamppb"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/disclosure"
	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/identity"
	"sabha.dev/chassis/sqldb"
	partnersv1 "sabha.dev/gen/sabha/partners/v1"
	"sabha.dev/services/partners/internal/crossing"
	"sabha.dev/services/partners/migrations"
	"sabha.dev/testrig/postgrestest"
)

var (
	postgres postgrestest.Shared
	start    = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
)

func TestMain(m *testing.M) {
	code := m.Run()
	_ = postgres.Close()
	os.Exit(code)
}

func onBothEngines(t *testing.T, test func(*testing.T, *sqldb.DB)) {
	for _, engine := range []string{"sqlite", "postgres"} {
		t.Run(engine, func(t *testing.T) {
			url := "sqlite:" + filepath.Join(t.TempDir(), "partners.db")
			if engine == "postgres" {
				url = postgres.URL(t)
			}
			db, err := sqldb.Open(t.Context(), url)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = db.Close() })
			if err := sqldb.Migrate(t.Context(), db, "partners", migrations.Files); err != nil {
				t.Fatal(err)
			}
			test(t, db)
		})
	}
}

func ledger(t testing.TB, db *sqldb.DB, later crossing.Later) *crossing.Ledger {
	t.Helper()
	l, err := crossing.Open(t.Context(), db, later)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func record(t testing.TB, db *sqldb.DB, crossings ...crossing.Crossing) {
	t.Helper()
	l := ledger(t, db, nil)
	tx, err := db.Write.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range crossings {
		if err := l.Record(c).Rows(t.Context(), tx); err != nil {
			t.Fatal(err)
		}
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
}

func left(t testing.TB, id, task, partner string, at time.Time, text string) crossing.Crossing {
	t.Helper()
	parts, to := []*a2apb.Part{agent.Text(text)}, disclosure.Recipient{Partner: partner, Skill: "underwrite"}
	var none *disclosure.Policy
	r, err := none.Outbound(t.Context(), to, parts)
	if err != nil {
		t.Fatal(err)
	}
	return crossing.Left(id, task, to, disclosure.Purpose{Name: "grading", Consent: task + "/agreed"}, "3", at, parts, r)
}

func TestACrossingIsKeptWithoutItsValues(t *testing.T) {
	onBothEngines(t, func(t *testing.T, db *sqldb.DB) {
		refused := left(t, "t1/1", "t1", "underwriter", start, "Mail anna@example.com")
		clean := left(t, "t1/2", "t1", "underwriter", start.Add(time.Second), "Mail us")
		record(t, db, refused, clean)
		record(t, db, refused) // the transaction is repeated
		got, err := ledger(t, db, nil).List(t.Context(), crossing.Filter{Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		want := []crossing.Crossing{
			{
				ID: "t1/2", Task: "t1", Partner: "underwriter", Skill: "underwrite", Direction: crossing.Out, At: start.Add(time.Second), Bytes: 21,
				Digest: clean.Digest, Policy: "3", Purpose: disclosure.Purpose{Name: "grading", Consent: "t1/agreed"},
			},
			{
				ID: "t1/1", Task: "t1", Partner: "underwriter", Skill: "underwrite", Direction: crossing.Out, At: start, Bytes: 35, Policy: "3", Refused: true,
				Purpose:  disclosure.Purpose{Name: "grading", Consent: "t1/agreed"},
				Findings: []disclosure.Finding{{Class: "email", Start: 5, End: 21, Action: disclosure.Refuse, Rule: "default"}},
			},
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%+v", got)
		}
		if len(clean.Digest) != 64 {
			t.Errorf("digest %q", clean.Digest)
		}
		var raw string
		if err := db.Read.QueryRowContext(t.Context(), "SELECT findings FROM crossings WHERE id = 't1/1'").Scan(&raw); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(raw, "anna") {
			t.Error(raw)
		}
	})
}

func TestACrossingIsCommittedWithItsTask(t *testing.T) {
	onBothEngines(t, func(t *testing.T, db *sqldb.DB) {
		l := ledger(t, db, nil)
		tx, err := db.Write.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Record(left(t, "t1/1", "t1", "underwriter", start, "x")).Rows(t.Context(), tx); err != nil {
			t.Fatal(err)
		}
		if err := tx.Rollback(); err != nil {
			t.Fatal(err)
		}
		if got, err := ledger(t, db, nil).List(t.Context(), crossing.Filter{Limit: 10}); err != nil || len(got) != 0 {
			t.Errorf("%+v, %v", got, err)
		}
		if err := l.Record(crossing.Crossing{Task: "t1"}).Rows(t.Context(), nil); err == nil {
			t.Error("one without an id is taken")
		}
	})
}

func TestOperatorsListCrossingsPageByPage(t *testing.T) {
	onBothEngines(t, func(t *testing.T, db *sqldb.DB) {
		var all []crossing.Crossing
		for i := range 7 {
			partner, text := "underwriter", "Mail anna@example.com"
			if i%2 == 1 {
				partner, text = "valuer", "SSN 219-09-9998"
			}
			all = append(all, left(t, fmt.Sprintf("t%d/1", i), fmt.Sprintf("t%d", i), partner, start.Add(time.Duration(i/2)*time.Second), text))
		}
		record(t, db, all...)
		rpc := &crossing.RPC{Ledger: ledger(t, db, nil)}
		list := func(req *partnersv1.ListCrossingsRequest) string {
			t.Helper()
			var ids []string
			for {
				res, err := rpc.ListCrossings(t.Context(), req)
				if err != nil {
					t.Fatal(err)
				}
				for _, c := range res.GetCrossings() {
					ids = append(ids, c.GetId())
				}
				if req.PageToken = res.GetNextPageToken(); req.PageToken == "" {
					return strings.Join(ids, " ")
				}
			}
		}
		for name, c := range map[string]struct {
			req  *partnersv1.ListCrossingsRequest
			want string
		}{
			"all":        {&partnersv1.ListCrossingsRequest{PageSize: 2}, "t6/1 t5/1 t4/1 t3/1 t2/1 t1/1 t0/1"},
			"by partner": {&partnersv1.ListCrossingsRequest{Partner: "valuer", PageSize: 1}, "t5/1 t3/1 t1/1"},
			"by task":    {&partnersv1.ListCrossingsRequest{TaskId: "t3"}, "t3/1"},
			"by class":   {&partnersv1.ListCrossingsRequest{Class: "email"}, "t6/1 t4/1 t2/1 t0/1"},
			"since":      {&partnersv1.ListCrossingsRequest{Since: timestamppb.New(start.Add(2 * time.Second)), Partner: "underwriter"}, "t6/1 t4/1"},
		} {
			if got := list(c.req); got != c.want {
				t.Errorf("%s: %s, want %s", name, got, c.want)
			}
		}
		for want, req := range map[string]*partnersv1.ListCrossingsRequest{
			"page_size": {PageSize: 201}, "class": {Class: "mail"}, "page_token": {PageToken: "x"}, "since": {Since: &timestamppb.Timestamp{Nanos: -1}},
		} {
			_, err := rpc.ListCrossings(t.Context(), req)
			var f *fault.Error
			if !errors.As(err, &f) || !strings.Contains(fmt.Sprintf("%+v", f), want) {
				t.Errorf("%s: %v", want, err)
			}
		}
		if n, err := ledger(t, db, nil).Forget(t.Context(), "underwriter", start.Add(2*time.Second), 1); n != 1 || err != nil {
			t.Errorf("%d forgotten, %v", n, err)
		}
		if got := list(&partnersv1.ListCrossingsRequest{Partner: "underwriter"}); got != "t6/1 t4/1 t2/1" {
			t.Errorf("after that there are %s", got)
		}
	})
}

func TestWhatIsKeptIsBounded(t *testing.T) {
	onBothEngines(t, func(t *testing.T, db *sqldb.DB) {
		c := left(t, "t1/1", "t1", "underwriter", start, strings.Repeat("anna@example.com ", 300))
		c.Findings[0].Path = strings.Repeat("é", 300) + "\x00"
		record(t, db, c)
		got, err := ledger(t, db, nil).List(t.Context(), crossing.Filter{Limit: 1})
		if err != nil {
			t.Fatal(err)
		}
		if len(got[0].Findings) != 200 || got[0].More != 100 || got[0].Findings[0].Path != strings.Repeat("é", 128) {
			t.Errorf("%d findings and %d more; path %q", len(got[0].Findings), got[0].More, got[0].Findings[0].Path)
		}
	})
}

func TestOnlyThoseWhoOverseeMayList(t *testing.T) {
	rule := crossing.Policy()[partnersv1.CrossingService_ListCrossings_FullMethodName]
	if !reflect.DeepEqual(rule.Scopes, []string{identity.Operator, identity.Auditor, identity.Admin}) {
		t.Errorf("%+v", rule)
	}
}
