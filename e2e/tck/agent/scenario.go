package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/clock"
	"sabha.dev/chassis/identity"
	"sabha.dev/chassis/service"
)

// Skills of the agent. The kit names none: Route chooses by the message's id.
const (
	skillTask    = "task"
	skillMessage = "message"
)

// longRun is how long the task for resubscription works: twice the two seconds
// that the kit's own agents take for the timeout of a stream.
const longRun = 4 * time.Second

// scenario is what the agent does with a message whose id begins with a prefix.
type scenario struct {
	prefix string
	steps  []step
	end    agent.Outcome
}

// step is one update of a task before its end.
type step func(context.Context, agent.Run) error

// scenarios as scenarios/*.feature of the kit describes them. Of prefixes that
// begin alike the longer stands first.
func scenarios(c clock.Clock) []scenario {
	return []scenario{
		{"tck-complete-task", nil, agent.Completed(agent.Text("Hello from TCK"))},
		{"tck-artifact-text", steps(whole(agent.Text("Generated text content"))), agent.Completed()},
		{"tck-artifact-file-url", steps(whole(fileURL())), agent.Completed()},
		{"tck-artifact-file", steps(whole(file())), agent.Completed()},
		{"tck-artifact-data", steps(whole(data())), agent.Completed()},
		{"tck-input-required", nil, agent.InputRequired()},
		{"tck-reject-task", nil, agent.Rejected(agent.Text("rejected"))},
		{"tck-stream-001", steps(working, whole(agent.Text("Stream hello from TCK"))), agent.Completed()},
		{"tck-stream-002", nil, agent.Completed()},
		{"tck-stream-003", steps(working, whole(agent.Text("Stream task lifecycle"))), agent.Completed()},
		{"tck-stream-ordering-001", steps(working, whole(agent.Text("Ordered output"))), agent.Completed()},
		{"tck-stream-artifact-text", steps(working, whole(agent.Text("Streamed text content"))), agent.Completed()},
		{"tck-stream-artifact-file", steps(working, whole(file())), agent.Completed()},
		{"tck-stream-artifact-chunked", steps(working, whole(agent.Text("chunk-1 ")), last("chunk-2")), agent.Completed()},
		{"test-resubscribe-message-id", steps(working, wait(c, longRun)), agent.Completed()},
	}
}

// Cards that the agent can have. The kit runs some of its tests only where a card
// declares what they are about.
const (
	cardPlain = "plain"
	// cardExtended declares an extended card, and has one.
	cardExtended = "extended"
	// cardStrict requires the extension that the kit looks for, so most other tests
	// fail with it.
	cardStrict = "strict"
)

// requiredExtension is the one that the kit's tests leave out on purpose.
const requiredExtension = "urn:a2a:tck:required-extension"

// persona is the agent under test. The kit sends ids again within a run, and no
// screening stands between it and the engine.
func persona(card string, c clock.Clock) (*service.Persona, error) {
	list := scenarios(c)
	p := &service.Persona{
		Unscreened: true, AllowRepeatedMessageIDs: true,
		Agent: agent.Agent{
			Tenant: front, Name: "Sabha system under test", Version: "1.0.0",
			Description: "Does what the public A2A test kit asks for by the prefix of a message's id.",
			Route: func(r *a2apb.SendMessageRequest) string {
				if strings.HasPrefix(r.GetMessage().GetMessageId(), "tck-message-response") {
					return skillMessage
				}
				return skillTask
			},
			Skills: []agent.Skill{
				{
					ID: skillTask, Name: "Task", Description: "Plays the scenario that the message's id names.", Tags: []string{"tck"},
					Run: func(ctx context.Context, run agent.Run) (agent.Outcome, error) { return play(ctx, run, list) },
				},
				{
					ID: skillMessage, Name: "Message", Description: "Answers with a direct message.", Tags: []string{"tck"},
					Answer: func(context.Context, *agent.Request) (*a2apb.Message, error) {
						return agent.Message(agent.Text("Direct message response")), nil
					},
				},
			},
		},
	}
	switch card {
	case cardPlain:
	case cardExtended:
		p.Agent.Extended = func(_ context.Context, who identity.Principal, card *a2apb.AgentCard) error {
			card.Description += " This card is for " + who.Subject + "."
			return nil
		}
	case cardStrict:
		p.Agent.Extensions = []*a2apb.AgentExtension{{Uri: requiredExtension, Required: true, Description: "Clients must name it."}}
	default:
		return nil, fmt.Errorf("there is no card %q; choose %s, %s or %s", card, cardPlain, cardExtended, cardStrict)
	}
	return p, nil
}

func play(ctx context.Context, run agent.Run, list []scenario) (agent.Outcome, error) {
	id := run.Request().Message.GetMessageId()
	for _, s := range list {
		if !strings.HasPrefix(id, s.prefix) {
			continue
		}
		for _, do := range s.steps {
			if err := do(ctx, run); err != nil {
				return agent.Outcome{}, err
			}
		}
		return s.end, nil
	}
	return agent.Completed(agent.Text("Unhandled messageId prefix: " + id)), nil
}

func steps(s ...step) []step { return s }

func working(_ context.Context, run agent.Run) error { return run.Working(nil) }

const artifactID = "output"

func whole(p *a2apb.Part) step {
	return func(_ context.Context, run agent.Run) error {
		return run.Artifact(&a2apb.Artifact{ArtifactId: artifactID, Parts: []*a2apb.Part{p}})
	}
}

// last adds the last chunk to what whole began.
func last(text string) step {
	return func(_ context.Context, run agent.Run) error {
		return run.Append(&a2apb.Artifact{ArtifactId: artifactID, Parts: []*a2apb.Part{agent.Text(text)}}, true)
	}
}

func wait(c clock.Clock, d time.Duration) step {
	return func(ctx context.Context, _ agent.Run) error {
		select {
		case <-c.After(d):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func file() *a2apb.Part {
	return &a2apb.Part{Content: &a2apb.Part_Raw{Raw: []byte("tck")}, Filename: "output.txt", MediaType: "text/plain"}
}

func fileURL() *a2apb.Part {
	return &a2apb.Part{Content: &a2apb.Part_Url{Url: "https://example.com/output.txt"}, Filename: "output.txt", MediaType: "text/plain"}
}

func data() *a2apb.Part {
	return &a2apb.Part{MediaType: "application/json", Content: &a2apb.Part_Data{Data: structpb.NewStructValue(&structpb.Struct{
		Fields: map[string]*structpb.Value{"key": structpb.NewStringValue("value"), "count": structpb.NewNumberValue(42)},
	})}}
}
