package request

import (
	"strings"

	"google.golang.org/protobuf/types/known/structpb"
)

// Models is what language models did for a task. The zero value is nothing.
type Models struct {
	// Drafted says that a model wrote the plan, Name which, Repairs how often it was sent
	// back.
	Drafted bool
	Name    string
	Repairs int
	// Note says why the built-in plan is used though a model is configured.
	Note string
	// Calls of models, and the tokens that they Read and Wrote.
	Calls, Read, Wrote int64
	// Cost of all calls in Currency; 0 where no prices are configured.
	Cost     float64
	Currency string
}

func modelsOf(s *structpb.Struct) Models {
	f := s.GetFields()
	n := func(name string) int64 { return int64(f[name].GetNumberValue()) }
	return Models{
		Drafted: f["drafted"].GetBoolValue(), Name: f["model"].GetStringValue(), Repairs: int(n("repairs")), Note: strings.TrimSpace(f["note"].GetStringValue()),
		Calls: n("calls"), Read: n("input_tokens"), Wrote: n("output_tokens"), Cost: f["cost"].GetNumberValue(), Currency: f["currency"].GetStringValue(),
	}
}
