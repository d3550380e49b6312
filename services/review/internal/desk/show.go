package desk

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	reviewv1 "sabha.dev/gen/sabha/review/v1"
	"sabha.dev/services/review/internal/item"
)

// GetItem gives an item with everything that a decision rests on.
func (d *Desk) GetItem(ctx context.Context, req *reviewv1.GetItemRequest) (*reviewv1.GetItemResponse, error) {
	p, err := d.person(ctx)
	if err != nil {
		return nil, err
	}
	i, err := d.items.Get(ctx, req.GetId())
	if err != nil {
		return nil, err
	}
	s, err := d.items.Snapshot(ctx, i.ID)
	if err != nil {
		return nil, err
	}
	history, err := d.items.History(ctx, i.ID)
	if err != nil {
		return nil, err
	}
	exchanges, err := d.items.Exchanges(ctx, i.ID)
	if err != nil {
		return nil, err
	}
	detail := &reviewv1.Detail{Item: d.shown(i, p), Effect: s.Effect, Reasons: s.Reasons, Request: s.Request}
	content := s.Content
	if edited := i.Edited(); edited != nil {
		content = edited
		if detail.Original, err = value(s.Content); err != nil {
			return nil, err
		}
	}
	if detail.Content, err = value(content); err != nil {
		return nil, err
	}
	for _, f := range []struct {
		from json.RawMessage
		to   **structpb.Struct
	}{{s.Schema, &detail.Schema}, {s.Labels, &detail.Labels}, {s.Plan, &detail.Plan}, {s.Context, &detail.Context}} {
		if len(f.from) == 0 {
			continue
		}
		v, err := value(f.from)
		if err != nil {
			return nil, err
		}
		*f.to = v.GetStructValue()
	}
	for _, x := range s.Sources {
		detail.Sources = append(detail.Sources, &reviewv1.Source{Title: x.Title, Document: x.Document, Location: x.Location, Text: x.Text})
	}
	for _, e := range history {
		detail.History = append(detail.History, &reviewv1.Event{At: stamp(e.At), By: e.By, What: e.What, Note: e.Note})
	}
	for _, e := range exchanges {
		detail.Exchanges = append(detail.Exchanges, &reviewv1.Exchange{
			AskedBy: e.AskedBy, Question: e.Question, AskedAt: stamp(e.AskedAt), Answer: e.Answer, AnsweredAt: stamp(e.AnsweredAt),
		})
	}
	return &reviewv1.GetItemResponse{Detail: detail}, nil
}

// shown is an item as a person sees it.
func (d *Desk) shown(i *item.Item, p item.Person) *reviewv1.Item {
	now := d.clock.Now()
	why := i.MayNot(p, now)
	out := &reviewv1.Item{
		Id: i.ID, Version: i.Version, Digest: i.Digest, Kind: i.Kind, State: i.State, Title: i.Title, Queue: i.Queue, Groups: i.Groups,
		Product: i.Product, Risk: i.Risk, Priority: int32(i.Priority), Requester: i.Requester, RootTaskId: i.RootTaskID, Playbook: i.Playbook,
		Step: i.Step, TraceId: i.TraceID, Confidence: i.Confidence, CreatedAt: stamp(i.CreatedAt), DueAt: stamp(i.DueAt), ExpiresAt: stamp(i.ExpiresAt),
		Escalations: int32(i.Escalations), ApprovalsNeeded: int32(i.Approvals), DecidedAt: stamp(i.EndedAt), OutcomeReason: i.OutcomeReason,
		MayDecide: why == "", MayNotBecause: why, BatchKey: i.BatchKey,
	}
	if out.Holder = i.HolderAt(now); out.GetHolder() != "" {
		out.HeldUntil = stamp(i.HeldUntil)
	}
	for _, x := range i.Decisions {
		v := &reviewv1.Decision{Person: x.Person, Approved: x.Approved, Reason: x.Reason, Digest: x.Digest, At: stamp(x.At)}
		if x.Edited != nil {
			v.Edited, _ = value(x.Edited) // it was written from a value
		}
		out.Decisions = append(out.Decisions, v)
	}
	return out
}

func value(raw json.RawMessage) (*structpb.Value, error) {
	v := &structpb.Value{}
	if err := v.UnmarshalJSON(raw); err != nil {
		return nil, fmt.Errorf("stored JSON: %w", err)
	}
	return v, nil
}

func stamp(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t)
}
