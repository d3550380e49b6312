package model

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"

	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/outlet"
)

// disclosed is a Model that sees of a prompt what a policy lets leave. Tokens that stand for
// values are resolved in what it answers.
type disclosed struct {
	Model
	name string
	out  *outlet.Outlet
}

func (d disclosed) Complete(ctx context.Context, req Request) (Response, error) {
	prompt, tokens, err := d.out.Text(ctx, outlet.Use{Of: d.name, Labels: req.Labels, Task: req.Task}, req.Prompt)
	if f := fault.As(err); f != nil {
		return Response{}, fmt.Errorf("%w: %s", ErrWithheld, f.Message)
	} else if err != nil {
		return Response{}, err
	}
	req.Prompt = prompt
	resp, err := d.Model.Complete(ctx, req)
	if err != nil {
		return resp, err
	}
	if req.Schema != nil { // a value that is put in the place of a token may need quoting
		v := &structpb.Value{}
		if protojson.Unmarshal([]byte(resp.Text), v) == nil {
			part := &a2apb.Part{Content: &a2apb.Part_Data{Data: v}}
			raw, err := protojson.Marshal(tokens.Restore([]*a2apb.Part{part})[0].GetData())
			resp.Text = string(raw)
			return resp, err
		}
	}
	resp.Text, _ = tokens.Text(resp.Text)
	return resp, nil
}
