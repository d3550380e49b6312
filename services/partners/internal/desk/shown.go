package desk

import (
	"encoding/json"
	"time"

	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	registryv1 "sabha.dev/gen/sabha/registry/v1"
	"sabha.dev/services/partners/internal/card"
	"sabha.dev/services/partners/internal/partner"
	"sabha.dev/services/partners/internal/registry"
)

var states = map[registryv1.State]partner.State{
	registryv1.State_STATE_DISCOVERED: partner.Discovered, registryv1.State_STATE_VERIFIED: partner.Verified,
	registryv1.State_STATE_APPROVED: partner.Approved, registryv1.State_STATE_SUSPENDED: partner.Suspended,
}

var conditions = map[registry.Condition]registryv1.Condition{
	registry.Fine: registryv1.Condition_CONDITION_GOOD, registry.Vanished: registryv1.Condition_CONDITION_VANISHED,
	registry.Invalid: registryv1.Condition_CONDITION_INVALID, registry.Unverified: registryv1.Condition_CONDITION_UNVERIFIED,
}

func stateOf(s partner.State) registryv1.State {
	for k, v := range states {
		if v == s {
			return k
		}
	}
	return registryv1.State_STATE_UNSPECIFIED
}

func when(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t)
}

// structOf reads a JSON object; nil for what is none.
func structOf(raw json.RawMessage) *structpb.Struct {
	if len(raw) == 0 {
		return nil
	}
	s := &structpb.Struct{}
	if s.UnmarshalJSON(raw) != nil {
		return nil
	}
	return s
}

func skills(all []partner.Skill) []*registryv1.Skill {
	var out []*registryv1.Skill
	for _, s := range all {
		out = append(out, &registryv1.Skill{
			Id: s.ID, Name: s.Name, Description: s.Description, Tags: s.Tags, InputSchema: structOf(s.Input), RequiresConfirmation: s.Confirm,
		})
	}
	return out
}

func shown(r *registry.Record) *registryv1.Partner {
	return &registryv1.Partner{
		Id: r.ID, Organisation: r.Organisation, Name: r.Name, Description: r.Description, Version: r.Version, Tags: r.Tags, Skills: skills(r.Skills),
		Protocol: string(r.Protocol), CardUrl: r.CardURL, Digest: r.Digest, Signature: string(r.Signature), State: stateOf(r.State), Reason: r.Reason,
		Discoverable: r.Discoverable, Callable: r.Callable, Online: r.Online, ProbedAt: when(r.ProbedAt), ProbeProblem: r.ProbeProblem, Trust: r.Trust,
		Condition: conditions[r.Condition], Problem: r.Problem, FetchedAt: when(r.FetchedAt), Hosts: r.Hosts, RegisteredBy: r.RegisteredBy,
		OrganisationBy: string(r.Vouch), CreatedAt: when(r.CreatedAt), UpdatedAt: when(r.UpdatedAt),
	}
}

func changed(id string, c *registry.Change) *registryv1.Change {
	if c == nil {
		return nil
	}
	return &registryv1.Change{PartnerId: id, Digest: c.Digest, Differences: shownDiff(c.Diff), Signature: string(c.Signature), FoundAt: when(c.FoundAt)}
}

func shownDiff(all []card.Difference) []*registryv1.Difference {
	var out []*registryv1.Difference
	for _, d := range all {
		out = append(out, &registryv1.Difference{Path: d.Path, Kind: d.Kind, Before: valueOf(d.Before), After: valueOf(d.After), Structural: d.Structural})
	}
	return out
}

func valueOf(raw json.RawMessage) *structpb.Value {
	if len(raw) == 0 {
		return nil
	}
	v := &structpb.Value{}
	if v.UnmarshalJSON(raw) != nil {
		return nil
	}
	return v
}

// differences reads those of a line of the history.
type differences struct{ into *[]*registryv1.Difference }

// UnmarshalJSON reads a list of differences.
func (d *differences) UnmarshalJSON(raw []byte) error {
	var all []card.Difference
	if err := json.Unmarshal(raw, &all); err != nil {
		return err
	}
	*d.into = shownDiff(all)
	return nil
}
