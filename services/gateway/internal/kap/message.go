package kap

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/engine"
	"sabha.dev/chassis/ext"
	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/identity"
	"sabha.dev/chassis/label"
)

// message makes the message of A2A that a request means. The same request makes the
// same message, under an id that is the request's: so sending it again finds its task,
// and another request under its id is a conflict. When and for how long it is sent
// does not matter.
func (c Capability) message(q Request, p identity.Principal) (*a2apb.SendMessageRequest, error) {
	m := &a2apb.Message{MessageId: "kap:" + q.ID, Role: a2apb.Role_ROLE_USER, Metadata: &structpb.Struct{Fields: map[string]*structpb.Value{}}}
	set := func(name, value string) {
		if value != "" {
			m.Metadata.Fields[name] = structpb.NewStringValue(value)
		}
	}
	if m.TaskId = q.Task; q.Task == "" { // an answer goes to what its task is at
		set(ext.Skill, c.Skill)
		set(ext.Playbook, c.Playbook)
	}
	from := &structpb.Struct{Fields: map[string]*structpb.Value{}}
	for name, said := range map[string]string{"id": q.From.ID, "name": q.From.Name, "organization": q.From.Organization} {
		if said != "" {
			from.Fields[name] = structpb.NewStringValue(said)
		}
	}
	m.Metadata.Fields[ext.KAP] = structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{
		"capability": structpb.NewStringValue(c.ID), "from": structpb.NewStructValue(from),
	}})
	if q.Thread != "" && q.Task == "" {
		// A caller's names of conversations are its own.
		sum := sha256.Sum256([]byte(p.Key() + "\x00" + q.Thread))
		m.ContextId = "kap-" + hex.EncodeToString(sum[:16])
	}
	if strings.TrimSpace(q.Input) != "" {
		m.Parts = append(m.Parts, agent.Text(q.Input))
	}
	if len(q.Metadata) > 0 {
		data, err := protobufOf(q.Metadata)
		if err != nil {
			return nil, err
		}
		m.Parts = append(m.Parts, &a2apb.Part{Content: &a2apb.Part_Data{Data: data}, MediaType: "application/json"})
	}
	return &a2apb.SendMessageRequest{Tenant: c.Tenant, Message: m}, nil
}

// metadata of the call that sends the message: what another organisation's agent says is
// nothing to act on unseen.
func (c Capability) metadata(q Request) metadata.MD {
	md := metadata.Pairs(ext.MetadataVersion, engine.Protocol, ext.MetadataClientVersion, Version, ext.MetadataIntegrity, string(label.Untrusted))
	if c.RequiresConfirmation && q.Task == "" {
		md.Set(ext.MetadataConfirm, ascii(c.Name+": "+c.Description))
	}
	return md
}

// ascii is a text with a question mark for each character that metadata does not take.
func ascii(s string) string {
	return strings.Map(func(c rune) rune {
		if c < ' ' || c > '~' {
			return '?'
		}
		return c
	}, strings.Join(strings.Fields(s), " "))
}

func protobufOf(object map[string]any) (*structpb.Value, error) {
	text, err := json.Marshal(object)
	if err != nil {
		return nil, fault.Invalid(parameters, "cannot be passed on").Because(err)
	}
	v := &structpb.Value{}
	if err := protojson.Unmarshal(text, v); err != nil {
		return nil, fault.Invalid(parameters, "holds a number that is too large; send it as a string").Because(err)
	}
	return v, nil
}
