package playbook

import (
	"encoding/json"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

// ordered makes expressions see a map's keys in alphabetical order. Go's own order changes from
// run to run, and the same run of a plan must give the same values.
type ordered struct{ types.Adapter }

func (o ordered) NativeToValue(v any) ref.Val {
	switch v := v.(type) {
	case map[string]any:
		return orderedMap{Mapper: types.NewStringInterfaceMap(o, v), keys: sortedKeys(v)}
	case []any:
		return types.NewDynamicList(o, v)
	}
	return o.Adapter.NativeToValue(v)
}

type orderedMap struct {
	traits.Mapper
	keys []string
}

func (m orderedMap) Iterator() traits.Iterator {
	return types.NewStringList(types.DefaultTypeAdapter, m.keys).Iterator()
}

// jsonFunction declares json(x): a value as compact JSON, keys sorted.
func jsonFunction() cel.EnvOption {
	return cel.Function("json", cel.Overload("json_dyn", []*cel.Type{cel.DynType}, cel.StringType,
		cel.UnaryBinding(func(v ref.Val) ref.Val {
			x, err := toJSON(v)
			if err != nil {
				return types.WrapErr(err)
			}
			var b strings.Builder
			enc := json.NewEncoder(&b)
			enc.SetEscapeHTML(false)
			if err := enc.Encode(x); err != nil {
				return types.WrapErr(err)
			}
			return types.String(strings.TrimSuffix(b.String(), "\n"))
		})))
}

// jsonCost charges json(x) by the length of what it gives.
type jsonCost struct{}

func (jsonCost) CallCost(_, overload string, _ []ref.Val, result ref.Val) *uint64 {
	if overload != "json_dyn" {
		return nil
	}
	cost := uint64(1)
	if s, ok := result.(types.String); ok {
		cost += uint64(len(s)) / 10
	}
	return &cost
}
