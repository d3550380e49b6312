package desk_test

import (
	"log/slog"
	"net/url"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	reviewv1 "sabha.dev/gen/sabha/review/v1"
	"sabha.dev/services/console/internal/desk"
	"sabha.dev/services/console/internal/reviewtest"
)

func value(t *testing.T, raw string) *structpb.Value {
	t.Helper()
	v := &structpb.Value{}
	if err := protojson.Unmarshal([]byte(raw), v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestItemsAreComparedByTheFieldsInWhichTheyDiffer(t *testing.T) {
	var items []*reviewv1.Item
	var contents []*structpb.Value
	for n, raw := range []string{
		`{"amount": 1, "payee": {"name": "Ada", "country": "NL"}, "urgent": true}`,
		`{"amount": 2, "payee": {"name": "Bo", "country": "NL"}, "urgent": true}`,
		`{"amount": 3, "payee": {"name": "Bo", "country": "NL"}, "urgent": true, "note": ""}`,
	} {
		items = append(items, &reviewv1.Item{Id: reviewtest.ID(n)})
		contents = append(contents, value(t, raw))
	}
	b := desk.Compare(items, contents)
	if want := []string{"amount", "note", "payee.name"}; !slices.Equal(b.Columns, want) {
		t.Errorf("columns %v, want %v", b.Columns, want)
	}
	if want := []desk.Same{{Path: "payee.country", Value: "NL"}, {Path: "urgent", Value: "true"}}; !slices.Equal(b.Alike, want) {
		t.Errorf("alike %v, want %v", b.Alike, want)
	}
	if want := []string{"2", "", "Bo"}; !slices.Equal(b.Rows[1].Cells, want) {
		t.Errorf("cells %v, want %v", b.Rows[1].Cells, want)
	}
	if b := desk.Compare(items[:1], contents[:1]); len(b.Alike) != 0 || len(b.Columns) != 4 {
		t.Errorf("of a single item: %v, %v", b.Columns, b.Alike)
	}
	if b := desk.Compare(nil, nil); len(b.Rows) != 0 || len(b.Columns) != 0 {
		t.Errorf("of none: %v", b)
	}
	texts := []*structpb.Value{structpb.NewStringValue("a"), structpb.NewStringValue("b")}
	if b := desk.Compare(items[:2], texts); !slices.Equal(b.Columns, []string{""}) || b.Rows[1].Cells[0] != "b" {
		t.Errorf("of texts: %v", b.Rows)
	}
}

func TestColumnsThatTellMostApartComeFirst(t *testing.T) {
	var items []*reviewv1.Item
	var contents []*structpb.Value
	for n := range 3 {
		fields := map[string]*structpb.Value{}
		for c := range 10 {
			fields[string(rune('a'+c))] = structpb.NewNumberValue(float64(min(n, 1)))
		}
		fields["z"] = structpb.NewNumberValue(float64(n))
		items, contents = append(items, &reviewv1.Item{}), append(contents, structpb.NewStructValue(&structpb.Struct{Fields: fields}))
	}
	if b := desk.Compare(items, contents); b.Columns[0] != "z" || len(b.Columns) != 8 || b.More != 3 {
		t.Errorf("columns %v and %d more", b.Columns, b.More)
	}
}

func TestWhatWasShownIsKnownByItsDigest(t *testing.T) {
	edit := structpb.NewStringValue("two")
	d := &reviewv1.Detail{Content: edit, Original: structpb.NewStringValue("one"), Item: &reviewv1.Item{Digest: "d2", Decisions: []*reviewv1.Decision{
		{Digest: "d1", Approved: true, Edited: edit, Person: "a/b"},
	}}}
	for digest, want := range map[string]string{"d1": "one", "d2": "two", "d9": "unknown"} {
		got, known := desk.At(d, digest)
		if text := got.GetStringValue(); (known && text != want) || (!known && want != "unknown") {
			t.Errorf("at %s: %q, %v", digest, text, known)
		}
	}
}

func TestAFilterIsAnAddress(t *testing.T) {
	f := desk.Filter{Tab: desk.Done, Queue: "a&b", Product: "p", Risk: "low", Query: "x y", After: "t"}
	q, err := url.ParseQuery(f.Values().Encode())
	if err != nil || desk.Read(q) != f {
		t.Errorf("%v became %v, %v", f, desk.Read(q), err)
	}
	if f := desk.Read(url.Values{"tab": {"nonsense"}}); f.Tab != desk.All || len(f.Values()) != 0 {
		t.Errorf("%v", f)
	}
}

func TestTheNextItemIsWhatTheReaderMayDecide(t *testing.T) {
	now := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	s := reviewtest.New(func() time.Time { return now })
	add := func(n int, change func(*reviewv1.Item)) *reviewv1.Item {
		i := &reviewv1.Item{Id: reviewtest.ID(n), DueAt: timestamppb.New(now.Add(time.Duration(n) * time.Minute))}
		if change != nil {
			change(i)
		}
		s.Add(&reviewv1.Detail{Item: i})
		return i
	}
	first, second := add(1, nil), add(2, nil)
	add(3, func(i *reviewv1.Item) { i.Holder = "somebody/else" })
	fourth := add(4, nil)
	d := desk.New(reviewv1.NewReviewServiceClient(s.Serve(t)), slog.New(slog.DiscardHandler))
	for _, c := range []struct{ after, want *reviewv1.Item }{{first, second}, {second, fourth}, {fourth, first}} {
		got, err := d.Next(t.Context(), desk.Filter{Tab: desk.All}, c.after)
		if err != nil || got.GetId() != c.want.GetId() {
			t.Errorf("after %s comes %s, want %s, %v", c.after.GetId(), got.GetId(), c.want.GetId(), err)
		}
	}
	if got, err := d.Next(t.Context(), desk.Filter{Tab: desk.Done}, first); got != nil || err != nil {
		t.Errorf("after a decided one comes %v, %v", got, err)
	}
}
