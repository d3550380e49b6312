package desk

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/identity"
	reviewv1 "sabha.dev/gen/sabha/review/v1"
	"sabha.dev/services/review/internal/item"
	"sabha.dev/services/review/internal/roster"
	"sabha.dev/services/review/internal/sqlstore"
	"sabha.dev/testrig/clocktest"
)

var noon = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

// shelf has seven open items and five that have ended.
type shelf struct {
	Items
	asked []sqlstore.Filter
}

func (s *shelf) List(_ context.Context, f sqlstore.Filter) ([]*item.Item, error) {
	s.asked = append(s.asked, f)
	var all []*item.Item
	for n := range 12 {
		i := &item.Item{ID: fmt.Sprintf("o%d", n), State: reviewv1.State_STATE_OPEN}
		i.DueAt = noon.Add(time.Duration(n) * time.Minute)
		if n >= 7 {
			i.ID, i.State, i.EndedAt = fmt.Sprintf("e%d", n), reviewv1.State_STATE_APPROVED, noon.Add(-time.Duration(n)*time.Minute)
		}
		k, after := sqlstore.KeyOf(i), f.After
		past := after.ID == "" || (!f.Ended && k.At > after.At) || (f.Ended && k.At < after.At)
		if i.Ended() == f.Ended && past && len(all) < f.Limit {
			all = append(all, i)
		}
	}
	return all, nil
}

func (*shelf) Counts(context.Context, string, time.Time) (sqlstore.Counts, error) {
	return sqlstore.Counts{Mine: 1, Unassigned: 6, Open: 7, Overdue: 2}, nil
}

func (*shelf) Queues(context.Context, time.Time) (map[string]sqlstore.QueueCounts, error) {
	return map[string]sqlstore.QueueCounts{"lending": {Open: 4, Overdue: 2}, "old": {Open: 3}}, nil
}

type rules struct{}

func (rules) Queues() []item.Queue {
	return []item.Queue{{Name: "lending", Title: "Lending", Groups: []string{"lending"}}, {Name: "general", Title: "General"}}
}
func (rules) Version() string { return "7" }

// nobody is a roster that stays empty.
type nobody struct{}

func (nobody) Note(context.Context, item.Person) error { return nil }
func (nobody) Find(context.Context, string) (item.Person, bool, error) {
	return item.Person{}, false, nil
}
func (nobody) NoteAccounts(context.Context, []roster.Account) error { return nil }
func (nobody) Disabled(context.Context, string) (bool, error)       { return false, nil }
func (nobody) Lately(context.Context) ([]item.Person, error)        { return nil, nil }

func reviewer(t *testing.T) context.Context {
	return identity.WithCall(t.Context(), identity.Call{Principal: identity.Principal{Organisation: "acme", Subject: "rosa", Scopes: []string{"reviewer"}}})
}

func TestPagesGoFromWhatIsOpenToWhatHasEnded(t *testing.T) {
	d := New(Config{Items: &shelf{}, People: nobody{}, Queues: rules{}, Clock: clocktest.New(noon)})
	all := []reviewv1.State{reviewv1.State_STATE_OPEN, reviewv1.State_STATE_APPROVED, reviewv1.State_STATE_ASKED}
	for _, c := range []struct {
		states []reviewv1.State
		size   int32
		want   string
	}{
		{nil, 3, "o0 o1 o2|o3 o4 o5|o6"},
		{nil, 7, "o0 o1 o2 o3 o4 o5 o6"},
		{all, 5, "o0 o1 o2 o3 o4|o5 o6 e7 e8 e9|e10 e11"},
		{all, 7, "o0 o1 o2 o3 o4 o5 o6|e7 e8 e9 e10 e11"},
		{[]reviewv1.State{reviewv1.State_STATE_APPROVED}, 4, "e7 e8 e9 e10|e11"},
		{all, 0, "o0 o1 o2 o3 o4 o5 o6 e7 e8 e9 e10 e11"},
	} {
		var pages []string
		token := ""
		for range 10 {
			res, err := d.ListItems(reviewer(t), &reviewv1.ListItemsRequest{States: c.states, PageSize: c.size, PageToken: token})
			if err != nil {
				t.Fatal(err)
			}
			if res.GetOpen() != 7 || res.GetMine() != 1 || res.GetUnassigned() != 6 || res.GetOverdue() != 2 {
				t.Errorf("counts: %v", res)
			}
			var ids []string
			for _, i := range res.GetItems() {
				ids = append(ids, i.GetId())
			}
			pages = append(pages, strings.Join(ids, " "))
			if token = res.GetNextPageToken(); token == "" {
				break
			}
		}
		if got := strings.Join(pages, "|"); got != c.want {
			t.Errorf("%v by %d: %s, want %s", c.states, c.size, got, c.want)
		}
	}
}

func TestAListIsAskedForStrictly(t *testing.T) {
	s := &shelf{}
	d := New(Config{Items: s, People: nobody{}, Queues: rules{}, Clock: clocktest.New(noon)})
	for _, c := range []struct {
		req  *reviewv1.ListItemsRequest
		want string
	}{
		{&reviewv1.ListItemsRequest{PageSize: 201}, "page_size: must be from 1 to 200"},
		{&reviewv1.ListItemsRequest{PageSize: -1}, "page_size: must be from 1 to 200"},
		{&reviewv1.ListItemsRequest{PageToken: "page two"}, "page_token: is not a token of this list"},
		{&reviewv1.ListItemsRequest{States: []reviewv1.State{99}}, "states: 99 is not a state"},
		{&reviewv1.ListItemsRequest{Query: "a b c d e f g h i"}, "query: must have at most 8 words"},
		{&reviewv1.ListItemsRequest{Queue: "a\x00"}, "query: must not contain the character U+0000"},
	} {
		if _, err := d.ListItems(reviewer(t), c.req); !fault.Is(err, fault.InvalidArgument) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.req, err, c.want)
		}
	}
	if _, err := d.ListItems(t.Context(), &reviewv1.ListItemsRequest{}); !fault.Is(err, fault.Unauthenticated) {
		t.Errorf("without a call: %v", err)
	}
	if _, err := d.ListItems(reviewer(t), &reviewv1.ListItemsRequest{Mine: true, Query: " Two  words ", Risk: "low"}); err != nil {
		t.Fatal(err)
	}
	if f := s.asked[len(s.asked)-1]; f.Mine != "acme/rosa" || !slices.Equal(f.Words, []string{"Two", "words"}) || f.Risk != "low" || f.Limit != defaultPage+1 || !f.Now.Equal(noon) {
		t.Errorf("asked for %+v", f)
	}
}

func TestQueuesSayWhatWaitsAndWhoMayDecide(t *testing.T) {
	res, err := New(Config{Items: &shelf{}, People: nobody{}, Queues: rules{}, Clock: clocktest.New(noon)}).ListQueues(reviewer(t), &reviewv1.ListQueuesRequest{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, q := range res.GetQueues() {
		got = append(got, fmt.Sprint(q.GetName(), " ", q.GetOpen(), " ", q.GetOverdue(), " ", q.GetMayDecide()))
	}
	if want := "lending 4 2 false|general 0 0 true|old 3 0 false"; strings.Join(got, "|") != want || res.GetPolicyVersion() != "7" {
		t.Errorf("%v of policy %s, want %s", got, res.GetPolicyVersion(), want)
	}
}

func FuzzToken(f *testing.F) {
	f.Add(writeToken(&item.Item{ID: "i1", Terms: item.Terms{DueAt: noon}}))
	f.Add(writeToken(&item.Item{ID: "i 2", EndedAt: noon}))
	f.Fuzz(func(t *testing.T, token string) {
		ended, k, err := readToken(token)
		if err != nil {
			return
		}
		i := &item.Item{ID: k.ID}
		if at := time.UnixMicro(k.At).UTC(); ended {
			i.EndedAt = at
		} else {
			i.DueAt = at
		}
		if i.Ended() != ended || sqlstore.KeyOf(i) != k { // the zero time is no time
			return
		}
		if e, again, err := readToken(writeToken(i)); err != nil || e != ended || again != k {
			t.Errorf("%q is read as %v, written and read again as %v, %v", token, k, again, err)
		}
	})
}
