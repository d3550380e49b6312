package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/google/uuid"

	"sabha.dev/bench/server"
	"sabha.dev/chassis/ext"
)

// question is 2 KB of prose with a few things in it that the detectors find.
var question = strings.Repeat("Please look at the application of Ines Moreau, who works at the harbour since 2011 and wants to buy a house. ", 17) +
	"Write to ines.moreau@post.example or call +33 6 12 34 56 78; the account is FR14 2004 1010 0505 0001 3M02 606."

// partners measures what calls of a partner cost more through the service partners than
// without it: the same question over JSON-RPC from the Go SDK's client, and over gRPC to
// partners with every check on.
func (b *bench) partners(ctx context.Context) (err error) {
	foreign, err := b.start(ctx, "partner", "full")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, foreign.stop()) }()
	url, err := os.ReadFile(filepath.Join(foreign.dir, server.PartnerFile))
	if err != nil {
		return err
	}
	edge, err := b.start(ctx, "partners", string(url))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, edge.stop()) }()
	direct, err := a2aclient.NewFromEndpoints(ctx, []*a2a.AgentInterface{{URL: string(url) + "/a2a", ProtocolBinding: a2a.TransportProtocolJSONRPC, ProtocolVersion: "1.0"}})
	if err != nil {
		return err
	}
	for _, n := range []int{1, 8} {
		for _, skill := range []string{"message", "task"} {
			d, p := &side{process: foreign, call: askDirectly(direct, skill)}, &side{process: edge, call: askThrough(edge.client, skill)}
			if err := b.turns(ctx, n, d, p); err != nil {
				return err
			}
			b.compare(fmt.Sprintf("partner's %s, 2 KB, %d callers: p50 direct / through partners", skill, n), fmt.Sprintf("%.2f", p.p(.5)), fmt.Sprintf("%.2f", d.p(.5)), "ms", p.p(.5)/d.p(.5))
			b.compare("  p99", fmt.Sprintf("%.2f", p.p(.99)), fmt.Sprintf("%.2f", d.p(.99)), "ms", p.p(.99)/d.p(.99))
			b.compare("  processor time of partners / of the partner, a call", fmt.Sprintf("%.0f", p.cost()), fmt.Sprintf("%.0f", d.cost()), "µs", p.cost()/d.cost())
		}
	}
	return nil
}

func askDirectly(client *a2aclient.Client, skill string) func(context.Context) error {
	return func(ctx context.Context) error {
		m := a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart(question))
		m.Metadata = map[string]any{ext.Skill: skill}
		res, err := client.SendMessage(ctx, &a2a.SendMessageRequest{Message: m})
		if err != nil {
			return err
		}
		switch r := res.(type) {
		case *a2a.Message:
			return answered(skill == "message" && len(r.Parts) == 1)
		case *a2a.Task:
			return answered(skill == "task" && r.Status.State == a2a.TaskStateCompleted && len(r.Artifacts) == 1)
		}
		return answered(false)
	}
}

func askThrough(client a2apb.A2AServiceClient, skill string) func(context.Context) error {
	return func(ctx context.Context) error {
		req := request("foreign/" + skill)
		req.Message.MessageId = uuid.NewString()
		req.Message.Parts = []*a2apb.Part{{Content: &a2apb.Part_Text{Text: question}}}
		res, err := client.SendMessage(versioned(ctx), req)
		if err != nil {
			return err
		}
		if skill == "message" {
			return answered(len(res.GetMessage().GetParts()) == 1)
		}
		return answered(res.GetTask().GetStatus().GetState() == a2apb.TaskState_TASK_STATE_COMPLETED && len(res.GetTask().GetArtifacts()) == 1)
	}
}

func answered(well bool) error {
	if !well {
		return errors.New("the partner's answer is not what it should be")
	}
	return nil
}
