package service

import (
	"slices"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/ext"
)

// extensions that every agent of the platform honours.
var extensions = []*a2apb.AgentExtension{
	{Uri: ext.Skill, Description: "Message metadata: the id of the skill that is asked for."},
	{Uri: ext.Cursor, Description: "Task and event metadata: the place epoch.version of a change. Sent back as Last-Event-ID over HTTP or gRPC metadata a2a-cursor on subscribe, to any replica and binding, the stream continues after it: every event once and in order. When events after it are gone, the first event is the Task with metadata urn:sabha:ext:cursor:v1/gap."},
	{Uri: ext.Push, Description: "Task metadata that GetTask answers: by push configuration, its state (active, retrying, disabled), the place that has arrived, and the reason of failures."},
}

// hasTasks tells whether there is anything to notify of: a skill that clients may
// call and that makes tasks.
func hasTasks(p *Persona) bool {
	return slices.ContainsFunc(p.Agent.Skills, func(s agent.Skill) bool { return s.Run != nil && !s.Internal })
}

// Card is the public card of a persona, without what its publisher adds:
// interfaces and security.
func Card(p *Persona) *a2apb.AgentCard {
	a := p.Agent
	card := &a2apb.AgentCard{
		Name: a.Name, Description: a.Description, Version: a.Version,
		Provider: &a2apb.AgentProvider{Organization: "Sabha", Url: "https://sabha.dev"},
		Capabilities: &a2apb.AgentCapabilities{
			Streaming: proto.Bool(true), PushNotifications: proto.Bool(hasTasks(p)),
			ExtendedAgentCard: proto.Bool(p.ExtendedCard || a.Extended != nil),
			Extensions:        append(append([]*a2apb.AgentExtension(nil), extensions...), a.Extensions...),
		},
		DefaultInputModes: []string{"text/plain", "application/json"}, DefaultOutputModes: []string{"text/plain", "application/json"},
	}
	for _, s := range a.Skills {
		if s.Internal {
			continue
		}
		skill := &a2apb.AgentSkill{
			Id: s.ID, Name: s.Name, Description: s.Description, Tags: s.Tags, Examples: s.Examples, InputModes: s.InputModes, OutputModes: s.OutputModes,
		}
		if s.Anonymous {
			// An empty requirement: no credentials are needed (specification 4.4.5).
			skill.SecurityRequirements = []*a2apb.SecurityRequirement{{}}
		}
		card.Skills = append(card.Skills, skill)
	}
	if inputs := inputs(a.Skills); inputs != nil {
		card.Capabilities.Extensions = append(card.Capabilities.Extensions, &a2apb.AgentExtension{
			Uri: ext.Input, Description: "The JSON Schema of the data part that a skill takes, by the skill's id.", Params: inputs,
		})
	}
	return card
}

// inputs are the declared inputs of skills, nil for none. One that is no JSON is left
// out; the tests of its agent find it.
func inputs(skills []agent.Skill) *structpb.Struct {
	var declared *structpb.Struct
	for _, s := range skills {
		if s.Internal || s.Input == "" {
			continue
		}
		schema := &structpb.Value{}
		if schema.UnmarshalJSON([]byte(s.Input)) != nil {
			continue
		}
		if declared == nil {
			declared = &structpb.Struct{Fields: map[string]*structpb.Value{}}
		}
		declared.Fields[s.ID] = schema
	}
	return declared
}
