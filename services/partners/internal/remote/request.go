package remote

import (
	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/google/uuid"
	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/chassis/ext"
)

func newID() string { return uuid.NewString() }

// Request makes a request to a partner. The skill stands in the message's metadata under
// our extension, and as "skill", which is where agents of other makes look for it.
func Request(messageID, skill string, parts []*a2apb.Part) *a2apb.SendMessageRequest {
	return &a2apb.SendMessageRequest{Message: &a2apb.Message{
		MessageId: messageID, Role: a2apb.Role_ROLE_USER, Parts: parts,
		Metadata: &structpb.Struct{Fields: map[string]*structpb.Value{
			ext.Skill: structpb.NewStringValue(skill), skillKey: structpb.NewStringValue(skill),
		}},
	}}
}

const skillKey = "skill"

// SkillOf is the skill that a request made by [Request] asks for.
func SkillOf(req *a2apb.SendMessageRequest) string {
	return req.GetMessage().GetMetadata().GetFields()[ext.Skill].GetStringValue()
}
