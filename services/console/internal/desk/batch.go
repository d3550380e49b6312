package desk

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"google.golang.org/protobuf/types/known/structpb"

	reviewv1 "sabha.dev/gen/sabha/review/v1"
	"sabha.dev/services/console/internal/form"
)

// maxColumns of a comparison.
const maxColumns = 8

// Batch is items of one kind side by side.
type Batch struct {
	Rows []Row
	// Columns are paths of the fields in which the items differ, the ones that tell the
	// most apart first; More counts those for which there is no room.
	Columns []string
	More    int
	// Alike are the fields that all items have in common.
	Alike []Same
	// Cut says that there are more items of the kind than a batch takes.
	Cut bool
}

// Row is an item and its values in the columns.
type Row struct {
	Item  *reviewv1.Item
	Cells []string
}

// Same is a field and its value in all items.
type Same struct{ Path, Value string }

// Batch reads the open items of a kind, those with the ids alone when there are any,
// which the caller may decide. The errors are those of Board.
func (d *Desk) Batch(ctx context.Context, key string, ids []string) (*Batch, error) {
	res, err := d.reviews.ListItems(ctx, &reviewv1.ListItemsRequest{BatchKey: key, PageSize: BatchSize})
	if err != nil {
		return nil, d.told(ctx, err)
	}
	var items []*reviewv1.Item
	for _, i := range res.GetItems() {
		if i.GetMayDecide() && i.GetState() == reviewv1.State_STATE_OPEN && i.GetBatchKey() == key && (len(ids) == 0 || slices.Contains(ids, i.GetId())) {
			items = append(items, i)
		}
	}
	contents, err := d.contents(ctx, items)
	if err != nil {
		return nil, err
	}
	b := Compare(items, contents)
	b.Cut = res.GetNextPageToken() != ""
	return b, nil
}

// Complete adds rows for items that had left the batch before they were decided, so
// that each has an outcome.
func (b *Batch) Complete(ids []string, outcomes map[string]*reviewv1.BatchOutcome) {
	for _, id := range ids {
		if slices.ContainsFunc(b.Rows, func(r Row) bool { return r.Item.GetId() == id }) {
			continue
		}
		item := outcomes[id].GetItem()
		if item == nil {
			item = &reviewv1.Item{Id: id, Title: id}
		}
		b.Rows = append(b.Rows, Row{Item: item})
	}
}

// atOnce bounds how many items are read at the same time.
const atOnce = 8

// contents reads what is decided on, in the order of the items. What has been read
// before is not read again.
func (d *Desk) contents(ctx context.Context, items []*reviewv1.Item) ([]*structpb.Value, error) {
	out := make([]*structpb.Value, len(items))
	errs := make([]error, len(items))
	slots := make(chan struct{}, atOnce)
	var wg sync.WaitGroup
	for n, i := range items {
		if v, ok := d.seen.get(i); ok {
			out[n] = v
			continue
		}
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			detail, err := d.Item(ctx, i.GetId())
			if err != nil {
				errs[n] = err
				return
			}
			out[n] = detail.GetContent()
			d.seen.put(detail.GetItem(), out[n])
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Compare puts items side by side.
func Compare(items []*reviewv1.Item, contents []*structpb.Value) *Batch {
	flat := make([]map[string]string, len(items))
	values := map[string]map[string]bool{}
	for n, v := range contents {
		flat[n] = map[string]string{}
		flatten("", v, flat[n])
		for path := range flat[n] {
			if values[path] == nil {
				values[path] = map[string]bool{}
			}
		}
	}
	for path, found := range values {
		for _, f := range flat {
			value, ok := f[path]
			found[strconv.FormatBool(ok)+value] = true
		}
	}
	b := &Batch{}
	for _, path := range slices.Sorted(maps.Keys(values)) {
		if len(values[path]) > 1 || len(items) == 1 {
			b.Columns = append(b.Columns, path)
			continue
		}
		b.Alike = append(b.Alike, Same{path, flat[0][path]})
	}
	slices.SortStableFunc(b.Columns, func(x, y string) int { return len(values[y]) - len(values[x]) })
	if len(b.Columns) > maxColumns {
		b.More = len(b.Columns) - maxColumns
		b.Columns = b.Columns[:maxColumns]
	}
	for n, i := range items {
		r := Row{Item: i}
		for _, c := range b.Columns {
			r.Cells = append(r.Cells, flat[n][c])
		}
		b.Rows = append(b.Rows, r)
	}
	return b
}

// flatten writes the values of a content by their paths. A content that is no object
// has the path "".
func flatten(path string, v *structpb.Value, into map[string]string) {
	object := v.GetStructValue()
	if object == nil || len(object.GetFields()) == 0 {
		into[path] = form.Text(v)
		return
	}
	for name, field := range object.GetFields() {
		flatten(strings.TrimPrefix(path+"."+name, "."), field, into)
	}
}
