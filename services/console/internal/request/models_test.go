package request

import (
	"testing"

	"google.golang.org/protobuf/types/known/structpb"
)

func TestModelsAreReadFromATask(t *testing.T) {
	for name, c := range map[string]struct {
		said map[string]any
		want Models
	}{
		"nothing": {nil, Models{}},
		"a drafted plan": {
			map[string]any{"drafted": true, "model": "small", "repairs": 1, "calls": 3, "input_tokens": 12345, "output_tokens": 678, "cost": 0.001234, "currency": "USD"},
			Models{Drafted: true, Name: "small", Repairs: 1, Calls: 3, Read: 12345, Wrote: 678, Cost: 0.001234, Currency: "USD"},
		},
		"the built-in plan": {map[string]any{"note": "The built-in plan is used.", "calls": 1, "input_tokens": 999}, Models{Note: "The built-in plan is used.", Calls: 1, Read: 999}},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := structpb.NewStruct(c.said)
			if err != nil {
				t.Fatal(err)
			}
			if got := modelsOf(s); got != c.want {
				t.Errorf("%+v, want %+v", got, c.want)
			}
		})
	}
}
