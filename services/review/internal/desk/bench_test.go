package desk_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"sabha.dev/chassis/clock"
	"sabha.dev/chassis/identity"
	"sabha.dev/chassis/sqldb"
	reviewv1 "sabha.dev/gen/sabha/review/v1"
	"sabha.dev/services/review/internal/desk"
	"sabha.dev/services/review/internal/item"
	"sabha.dev/services/review/internal/roster"
	"sabha.dev/services/review/internal/sqlstore"
	"sabha.dev/services/review/migrations"
	"sabha.dev/testrig/postgrestest"
)

// openItems is how many wait while the desk is measured, ended how many have ended.
const openItems, endedItems = 10_000, 10_000

// fill makes a database with items in four queues, some of them held.
func fill(b *testing.B, url string) *desk.Desk {
	b.Helper()
	db, err := sqldb.Open(b.Context(), url)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = db.Close() })
	if err := sqldb.Migrate(b.Context(), db, "review", migrations.Files); err != nil {
		b.Fatal(err)
	}
	s := sqlstore.New(db)
	now := time.Now()
	tx, err := db.Write.BeginTx(b.Context(), nil)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	for n := range openItems + endedItems {
		shot := &item.Snapshot{
			Kind: "result", Title: fmt.Sprintf("Answer to customer %d about a mortgage", n), Content: []byte(`{"answer":"Yes, up to a limit.","limit":100}`),
			Effect: "It is given out.", Product: []string{"loans", "cards", "funds"}[n%3], Risk: []string{"low", "low", "medium", "high"}[n%4], Playbook: "answers", Step: "approve",
		}
		body, digest, err := shot.Encode()
		if err != nil {
			b.Fatal(err)
		}
		t := item.Terms{
			Queue: fmt.Sprintf("queue-%d", n%4), Priority: 3, Approvals: 1, ClaimFor: 30 * time.Minute, DueAt: now.Add(time.Duration(n*7919%openItems-openItems/4) * time.Second),
		}
		i, e := item.New(item.Origin{ID: itemID(n), Requester: fmt.Sprintf("acme/customer-%d", n%500), CreatedAt: now}, shot, digest, t)
		if err := s.Insert(i, body, e)(b.Context(), tx); err != nil {
			b.Fatal(err)
		}
		change := func(i *item.Item) (*item.Change, error) {
			p := item.PersonOf(identity.Principal{Organisation: "acme", Subject: fmt.Sprintf("rosa%d", n/10%20), Scopes: []string{"reviewer"}})
			switch {
			case n >= openItems:
				return i.Decide(p, item.Verdict{Digest: i.Digest, Approve: true}, now)
			case n%10 == 0:
				return i.Claim(p, now)
			}
			return nil, nil
		}
		if err := s.Rows(i.ID, change, nil)(b.Context(), tx); err != nil {
			b.Fatal(err)
		}
	}
	if err := tx.Commit(); err != nil {
		b.Fatal(err)
	}
	if db.Dialect == sqldb.Postgres { // as its autovacuum does within a minute
		if _, err := db.Write.ExecContext(b.Context(), "VACUUM ANALYZE review_items"); err != nil {
			b.Fatal(err)
		}
	}
	return desk.New(desk.Config{Items: s, People: roster.New(db, clock.System{}), Clock: clock.System{}, Log: slog.New(slog.DiscardHandler)})
}

func itemID(n int) string { return fmt.Sprintf("0193-%08d", n*7919%(openItems+endedItems)) }

// BenchmarkTenThousandOpenItems measures what a reviewer waits for at the desk while
// 10,000 items wait and as many have ended.
func BenchmarkTenThousandOpenItems(b *testing.B) {
	b.Run("sqlite", func(b *testing.B) { measure(b, "sqlite:"+filepath.Join(b.TempDir(), "review.db")) })
	b.Run("postgres", func(b *testing.B) {
		server, err := postgrestest.RunDurable()
		if err != nil {
			b.Fatal(err)
		}
		defer func() { _ = server.Close() }()
		url, err := server.Database(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		measure(b, url)
	})
}

func measure(b *testing.B, url string) {
	d := fill(b, url)
	ctx := identity.WithCall(b.Context(), identity.Call{Principal: identity.Principal{Organisation: "acme", Subject: "rosa1", Scopes: []string{"reviewer"}}})
	list := func(req *reviewv1.ListItemsRequest) func(context.Context, int) error {
		return func(ctx context.Context, _ int) error {
			res, err := d.ListItems(ctx, req)
			if err == nil && len(res.GetItems()) == 0 {
				err = os.ErrNotExist
			}
			return err
		}
	}
	for _, c := range []struct {
		name string
		do   func(context.Context, int) error
	}{
		{"list", list(&reviewv1.ListItemsRequest{PageSize: 100})},
		{"mine", list(&reviewv1.ListItemsRequest{Mine: true, PageSize: 100})},
		{"unassigned", list(&reviewv1.ListItemsRequest{Unassigned: true, PageSize: 100})},
		{"queue-and-risk", list(&reviewv1.ListItemsRequest{Queue: "queue-3", Risk: "high", PageSize: 100})},
		{"words", list(&reviewv1.ListItemsRequest{Query: "customer 9876", PageSize: 100})},
		{"done", list(&reviewv1.ListItemsRequest{States: []reviewv1.State{reviewv1.State_STATE_APPROVED}, PageSize: 100})},
		{"show", func(ctx context.Context, n int) error {
			_, err := d.GetItem(ctx, &reviewv1.GetItemRequest{Id: itemID(n % openItems)})
			return err
		}},
		{"claim", func(ctx context.Context, n int) error {
			_, err := d.Claim(ctx, &reviewv1.ClaimRequest{Id: itemID((n*10 + 1) % openItems)})
			return err
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			var took []time.Duration
			for n := 0; b.Loop(); n++ {
				began := time.Now()
				if err := c.do(ctx, n); err != nil {
					b.Fatal(err)
				}
				took = append(took, time.Since(began))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
			b.ReportMetric(float64(took[len(took)*95/100].Microseconds())/1000, "p95-ms")
		})
	}
}
