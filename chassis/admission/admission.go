// Package admission asks the security persona whether a message from outside may
// be worked on.
package admission

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/google/uuid"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/engine"
	"sabha.dev/chassis/ext"
	"sabha.dev/chassis/fault"
)

// Service is the persona that screens, and its skill.
const (
	Service = "security"
	skill   = "screen"
)

// Screener asks security over A2A.
type Screener struct{ client a2apb.A2AServiceClient }

var _ engine.Screener = (*Screener)(nil)

// New makes a screener over a connection to security.
func New(conn grpc.ClientConnInterface) *Screener {
	return &Screener{client: a2apb.NewA2AServiceClient(conn)}
}

// verdict is security's answer as its data part says it.
type verdict struct {
	Verdict string `json:"verdict"`
	Reasons []struct {
		Rule   string `json:"rule"`
		Reason string `json:"reason"`
	} `json:"reasons"`
	PolicyVersion string `json:"policy_version"`
}

// Screen gives the verdict on a message. A message that security cannot read, for
// instance because it is too long, is refused; any other trouble is an error.
func (s *Screener) Screen(ctx context.Context, m *a2apb.Message) (engine.Verdict, error) {
	if md, _ := metadata.FromOutgoingContext(ctx); len(md.Get(ext.MetadataVersion)) == 0 {
		ctx = metadata.AppendToOutgoingContext(ctx, ext.MetadataVersion, engine.Protocol)
	}
	res, err := s.client.SendMessage(ctx, &a2apb.SendMessageRequest{Tenant: Service, Message: &a2apb.Message{
		MessageId: uuid.NewString(), Role: a2apb.Role_ROLE_USER, Parts: m.GetParts(),
		Metadata: &structpb.Struct{Fields: map[string]*structpb.Value{ext.Skill: structpb.NewStringValue(skill)}},
	}})
	if err != nil {
		if f := fault.FromStatus(err); f != nil && (f.Reason == fault.InvalidArgument || f.Reason == fault.TooLarge || f.Reason == fault.ContentTypeNotSupported) {
			return engine.Verdict{Reason: "the message cannot be screened: " + f.Message, PolicyVersion: "none"}, nil
		}
		return engine.Verdict{}, fmt.Errorf("screening: %w", err)
	}
	data := agent.DataOf(res.GetMessage().GetParts())
	if data == nil {
		return engine.Verdict{}, errors.New("screening: the answer has no verdict")
	}
	raw, err := data.MarshalJSON()
	if err != nil {
		return engine.Verdict{}, fmt.Errorf("screening: %w", err)
	}
	var v verdict
	if err := json.Unmarshal(raw, &v); err != nil {
		return engine.Verdict{}, fmt.Errorf("screening: %w", err)
	}
	out := engine.Verdict{Allowed: v.Verdict == "allowed", PolicyVersion: v.PolicyVersion}
	if !out.Allowed {
		var why []string
		for _, r := range v.Reasons {
			why = append(why, r.Reason)
		}
		out.Reason = "refused by screening"
		if len(why) > 0 {
			out.Reason += ": " + strings.Join(why, " ")
		}
	}
	return out, nil
}
