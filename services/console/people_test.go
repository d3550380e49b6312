package console

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"

	"sabha.dev/chassis/sqldb"
	reviewv1 "sabha.dev/gen/sabha/review/v1"
	"sabha.dev/services/console/internal/account"
	"sabha.dev/services/console/internal/sqlstore"
	"sabha.dev/services/console/migrations"
	"sabha.dev/testrig/clocktest"
)

// listener keeps what it is told.
type listener struct {
	said []string
	err  error
}

func (d *listener) NoteAccounts(_ context.Context, q *reviewv1.NoteAccountsRequest, _ ...grpc.CallOption) (*reviewv1.NoteAccountsResponse, error) {
	if d.err != nil {
		return nil, d.err
	}
	for _, a := range q.GetAccounts() {
		line := a.GetPerson() + " " + strings.Join(a.GetScopes(), ",")
		if a.GetDisabled() {
			line += " disabled"
		}
		d.said = append(d.said, line)
	}
	return &reviewv1.NoteAccountsResponse{}, nil
}

func TestReviewIsToldOfAccountsThatItDoesNotKnow(t *testing.T) {
	db, err := sqldb.Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "console.db"))
	if err == nil {
		err = sqldb.Migrate(t.Context(), db, "console", migrations.Files)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	c := clocktest.New(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	people, at := account.New(sqlstore.New(db), c), &listener{}
	tell := &teller{people: people, review: at, told: map[string]*reviewv1.Account{}}
	says := func(want ...string) {
		t.Helper()
		at.said = nil
		if err := tell.tell(t.Context(), c.Now()); err != nil || !slices.Equal(at.said, want) {
			t.Errorf("it is told %q, %v; want %q", at.said, err, want)
		}
	}
	rosa := account.Account{Organisation: "acme", Subject: "rosa", Roles: []string{"reviewer"}, Groups: []string{"lending"}}
	if _, err := people.Add(t.Context(), rosa, ""); err != nil {
		t.Fatal(err)
	}
	<-people.Changed()
	says("acme/rosa reviewer,group:lending")
	says()
	rosa.Disabled = true
	if err := people.Change(t.Context(), rosa); err != nil {
		t.Fatal(err)
	}
	<-people.Changed()
	at.err = errors.New("away")
	if err := tell.tell(t.Context(), c.Now()); !errors.Is(err, at.err) {
		t.Error(err)
	}
	at.err = nil
	says("acme/rosa reviewer,group:lending disabled") // when it is back
	says()
	c.Advance(tellAllAccounts)
	says("acme/rosa reviewer,group:lending disabled") // what it has might be of a backup
	select {
	case <-people.Changed():
		t.Error("nothing has changed")
	default:
	}
}
