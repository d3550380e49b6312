package playbook

import (
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

// Bounds of one evaluated value.
const (
	maxValues    = 100_000
	maxValueSize = 8 << 20 // bytes of text in it
)

var errTooLarge = fmt.Errorf("the value is too large: at most %d values and %d bytes of text", maxValues, maxValueSize)

// toJSON turns a CEL value into what JSON holds: nil, bool, float64, string, []any and
// map[string]any, as google.protobuf.Struct does. Whole numbers beyond 2^53 become text, as
// protobuf's JSON form has it; times and bytes likewise.
func toJSON(v ref.Val) (any, error) {
	c := &converter{values: maxValues, bytes: maxValueSize}
	return c.convert(v)
}

// converter counts down what may still be produced: lists that share their elements are small in
// CEL and huge when written out.
type converter struct {
	values, bytes int
}

func (c *converter) text(s string) (any, error) {
	if c.bytes -= len(s); c.bytes < 0 {
		return nil, errTooLarge
	}
	return s, nil
}

func (c *converter) convert(v ref.Val) (any, error) {
	if c.values--; c.values < 0 {
		return nil, errTooLarge
	}
	switch v := v.(type) {
	case types.Null:
		return nil, nil
	case types.Bool:
		return bool(v), nil
	case types.String:
		return c.text(string(v))
	case types.Int:
		if v > 1<<53 || v < -(1<<53) {
			return strconv.FormatInt(int64(v), 10), nil
		}
		return float64(v), nil
	case types.Uint:
		if v > 1<<53 {
			return strconv.FormatUint(uint64(v), 10), nil
		}
		return float64(v), nil
	case types.Double:
		if f := float64(v); !math.IsNaN(f) && !math.IsInf(f, 0) {
			return f, nil
		}
		return nil, errors.New("the number is not finite")
	case types.Bytes:
		return c.text(base64.StdEncoding.EncodeToString(v))
	case types.Timestamp:
		return v.Time.UTC().Format(time.RFC3339Nano), nil
	case types.Duration:
		return strconv.FormatFloat(v.Seconds(), 'f', -1, 64) + "s", nil
	case *types.Optional:
		if !v.HasValue() {
			return nil, nil
		}
		return c.convert(v.GetValue())
	case traits.Lister:
		return c.list(v)
	case traits.Mapper:
		return c.object(v)
	case *types.Err:
		return nil, v
	}
	return nil, fmt.Errorf("a value of type %s cannot be passed on", v.Type().TypeName())
}

func (c *converter) list(v traits.Lister) (any, error) {
	out := []any{}
	for it := v.Iterator(); it.HasNext() == types.True; {
		x, err := c.convert(it.Next())
		if err != nil {
			return nil, err
		}
		out = append(out, x)
	}
	return out, nil
}

func (c *converter) object(v traits.Mapper) (any, error) {
	out := map[string]any{}
	for it := v.Iterator(); it.HasNext() == types.True; {
		key := it.Next()
		name, ok := key.(types.String)
		if !ok {
			return nil, fmt.Errorf("a map's keys must be text; one is %s", key.Type().TypeName())
		}
		if _, err := c.text(string(name)); err != nil {
			return nil, err
		}
		x, err := c.convert(v.Get(key))
		if err != nil {
			return nil, err
		}
		out[string(name)] = x
	}
	return out, nil
}
