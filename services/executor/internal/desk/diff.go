package desk

import (
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"

	executorv1 "sabha.dev/gen/sabha/executor/v1"
)

// Kinds of a difference.
const (
	added   = "added"
	removed = "removed"
	changed = "changed"
)

// maxDifferences bounds how many are told.
const maxDifferences = 200

// differ collects differences between two JSON values.
type differ struct{ all []*executorv1.Difference }

func (d *differ) note(path, kind string, before, after any) {
	if len(d.all) == maxDifferences {
		return
	}
	one := &executorv1.Difference{Path: path, Kind: kind}
	if kind != added {
		one.Before, _ = structpb.NewValue(before) // it was JSON
	}
	if kind != removed {
		one.After, _ = structpb.NewValue(after)
	}
	d.all = append(d.all, one)
}

// compare tells where b is another than a: objects by key, lists by position.
func (d *differ) compare(path string, a, b any) {
	switch x := a.(type) {
	case map[string]any:
		if y, ok := b.(map[string]any); ok {
			d.objects(path, x, y)
			return
		}
	case []any:
		if y, ok := b.([]any); ok && len(x) == len(y) {
			for i := range x {
				d.compare(path+"/"+strconv.Itoa(i), x[i], y[i])
			}
			return
		}
	}
	if !reflect.DeepEqual(a, b) {
		d.note(path, changed, a, b)
	}
}

func (d *differ) objects(path string, a, b map[string]any) {
	keys := slices.Collect(maps.Keys(a))
	for k := range b {
		if _, has := a[k]; !has {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	for _, k := range keys {
		before, was := a[k]
		after, is := b[k]
		at := path + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(k)
		switch {
		case !is:
			d.note(at, removed, before, nil)
		case !was:
			d.note(at, added, nil, after)
		default:
			d.compare(at, before, after)
		}
	}
}

// differences between what is approved and what is said now; none without the first.
func differences(approved, now *structpb.Struct) []*executorv1.Difference {
	if approved == nil || now == nil {
		return nil
	}
	d := &differ{}
	d.objects("", approved.AsMap(), now.AsMap())
	return d.all
}
