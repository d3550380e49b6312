package client

import (
	"context"
	"crypto/rand"
	"fmt"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/chassis/ext"
)

// Call asks a persona for a skill that answers with a Message and gives the data of the answer.
func (c *Client) Call(ctx context.Context, tenant, skill string, input map[string]any) (*structpb.Struct, error) {
	data, err := structpb.NewValue(input)
	if err != nil {
		return nil, err
	}
	metadata, err := structpb.NewStruct(map[string]any{ext.Skill: skill})
	if err != nil {
		return nil, err
	}
	ctx, cancel := c.call(ctx)
	defer cancel()
	res, err := c.agent.SendMessage(ctx, &a2apb.SendMessageRequest{Tenant: tenant, Message: &a2apb.Message{
		MessageId: rand.Text(), Role: a2apb.Role_ROLE_USER, Metadata: metadata,
		Parts: []*a2apb.Part{{Content: &a2apb.Part_Data{Data: data}}},
	}})
	if err != nil {
		return nil, c.fault(err)
	}
	for _, p := range res.GetMessage().GetParts() {
		if s := p.GetData().GetStructValue(); s != nil {
			return s, nil
		}
	}
	return nil, fmt.Errorf("%s answered %s without data", tenant, skill)
}
