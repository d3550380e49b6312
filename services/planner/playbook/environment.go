package playbook

import (
	"fmt"
	"slices"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/ext"
)

// environments are the sets of variables that expressions of one playbook see.
type environments struct {
	plain *cel.Env // input and steps
	loop  *cel.Env // and revision
	match *cel.Env // request only
}

// newEnvironments declares input by its schema and steps by their ids, so that a wrong name or type
// is found when the file is read.
func newEnvironments(stepIDs []string, inputTypes map[string]*cel.Type) (*environments, error) {
	data := cel.MapType(cel.StringType, cel.DynType)
	output := cel.ObjectType("sabha.Output")
	steps := make(map[string]*cel.Type, len(stepIDs))
	for _, id := range stepIDs {
		steps[id] = cel.ObjectType("sabha.Step")
	}
	fields := map[string]map[string]*cel.Type{
		"sabha.Steps":    steps,
		"sabha.Step":     {"state": cel.StringType, "output": output},
		"sabha.Output":   {"text": cel.StringType, "data": data, "state": cel.StringType, "task": cel.StringType},
		"sabha.Revision": {"round": cel.IntType, "feedback": output},
		"sabha.Request":  {"text": cel.StringType, "skill": cel.StringType, "data": data},
	}
	input := data
	if inputTypes != nil {
		fields["sabha.Input"] = inputTypes
		input = cel.ObjectType("sabha.Input")
	}
	// OptionalTypes needs a registry it can add to; ours go around it afterwards.
	base, err := cel.NewEnv(
		cel.OptionalTypes(),
		ext.Strings(),
		ext.Math(),
		jsonFunction(),
		cel.ParserExpressionSizeLimit(MaxExpression),
		cel.ParserRecursionLimit(100),
		cel.ExpressionNodeLimit(10_000),
		cel.RegexProgramSizeLimit(1000),
	)
	if err != nil {
		return nil, err
	}
	provider := cel.CustomTypeProvider(&records{Provider: base.CELTypeProvider(), fields: fields})
	adapter := cel.CustomTypeAdapter(ordered{base.CELTypeAdapter()})
	plain, err := base.Extend(adapter, provider, cel.Variable("input", input), cel.Variable("steps", cel.ObjectType("sabha.Steps")))
	if err != nil {
		return nil, err
	}
	loop, err := base.Extend(adapter, provider, cel.Variable("input", input), cel.Variable("steps", cel.ObjectType("sabha.Steps")), cel.Variable("revision", cel.ObjectType("sabha.Revision")))
	if err != nil {
		return nil, err
	}
	match, err := base.Extend(adapter, provider, cel.Variable("request", cel.ObjectType("sabha.Request")))
	if err != nil {
		return nil, err
	}
	return &environments{plain: plain, loop: loop, match: match}, nil
}

// records gives maps with known keys a type. Values stay plain maps.
type records struct {
	types.Provider
	fields map[string]map[string]*cel.Type
}

func (r *records) FindStructType(name string) (*types.Type, bool) {
	if _, ok := r.fields[name]; ok {
		return types.NewTypeTypeWithParam(types.NewObjectType(name)), true
	}
	return r.Provider.FindStructType(name)
}

func (r *records) FindStructFieldNames(name string) ([]string, bool) {
	if fields, ok := r.fields[name]; ok {
		return sortedKeys(fields), true
	}
	return r.Provider.FindStructFieldNames(name)
}

func (r *records) FindStructFieldType(name, field string) (*types.FieldType, bool) {
	fields, ok := r.fields[name]
	if !ok {
		return r.Provider.FindStructFieldType(name, field)
	}
	t, ok := fields[field]
	if !ok {
		return nil, false
	}
	return &types.FieldType{
		Type: t,
		IsSet: func(target any) bool {
			m, isMap := target.(map[string]any)
			_, set := m[field]
			return isMap && set
		},
		GetFrom: func(target any) (any, error) {
			m, isMap := target.(map[string]any)
			v, set := m[field]
			if !isMap || !set {
				return nil, fmt.Errorf("there is no %q; use has(…) or .?%s.orValue(…) where it may be absent", field, field)
			}
			return v, nil
		},
	}, true
}

func (r *records) NewValue(name string, fields map[string]ref.Val) ref.Val {
	if _, ok := r.fields[name]; ok {
		return types.NewErr("%s cannot be built in an expression", name)
	}
	return r.Provider.NewValue(name, fields)
}

var requestFields = []string{"data", "skill", "text"}

// celTypes gives the properties of an object schema CEL types. Numbers stay dynamic: JSON does not
// tell 3 from 3.0, and CEL would.
func celTypes(schema map[string]any) (map[string]*cel.Type, []string) {
	properties, ok := schema["properties"].(map[string]any)
	if !ok || len(properties) == 0 {
		return nil, nil
	}
	out := make(map[string]*cel.Type, len(properties))
	for name, p := range properties {
		out[name] = cel.DynType
		def, _ := p.(map[string]any)
		switch def["type"] {
		case "string":
			out[name] = cel.StringType
		case "boolean":
			out[name] = cel.BoolType
		case "array":
			out[name] = cel.ListType(cel.DynType)
		case "object":
			out[name] = cel.MapType(cel.StringType, cel.DynType)
		}
	}
	names := sortedKeys(out)
	return out, slices.Clip(names)
}
