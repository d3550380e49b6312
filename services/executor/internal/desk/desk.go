// Package desk serves the people who decide which tools of MCP servers may be called
// (sabha.executor.v1.ToolService).
package desk

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/identity"
	executorv1 "sabha.dev/gen/sabha/executor/v1"
	"sabha.dev/services/executor/internal/sqlstore"
	"sabha.dev/services/executor/internal/toolhost"
)

// Policy says who may call: the platform's edges, for people with these roles.
func Policy() identity.Policy {
	edges := []string{identity.Gateway, identity.Console}
	readers := identity.Rule{Actors: edges, Scopes: identity.Roles()}
	return identity.Policy{
		executorv1.ToolService_ListTools_FullMethodName:  readers,
		executorv1.ToolService_GetTool_FullMethodName:    readers,
		executorv1.ToolService_DecideTool_FullMethodName: {Actors: edges, Scopes: []string{identity.Operator, identity.Admin}},
	}
}

// Bounds of what people write and read.
const (
	maxNote    = 2000 // bytes
	maxHistory = 50
)

// Desk implements ToolService.
type Desk struct {
	executorv1.UnimplementedToolServiceServer
	Store *sqlstore.Store
	// Servers tells how servers are; nil where none is configured.
	Servers func() map[string]toolhost.Status
}

var standings = map[toolhost.Standing]executorv1.Standing{
	toolhost.Held: executorv1.Standing_STANDING_HELD, toolhost.Approved: executorv1.Standing_STANDING_APPROVED, toolhost.Refused: executorv1.Standing_STANDING_REFUSED,
}

var states = map[toolhost.State]executorv1.ServerState{
	toolhost.Connecting: executorv1.ServerState_SERVER_STATE_CONNECTING, toolhost.Ready: executorv1.ServerState_SERVER_STATE_READY,
	toolhost.Away: executorv1.ServerState_SERVER_STATE_AWAY,
}

func when(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t)
}

// structOf reads a JSON object; nil for what is none.
func structOf(raw json.RawMessage) *structpb.Struct {
	s := &structpb.Struct{}
	if len(raw) == 0 || s.UnmarshalJSON(raw) != nil {
		return nil
	}
	return s
}

func shown(t sqlstore.Tool) *executorv1.Tool {
	var said struct {
		Description string `json:"description"`
	}
	_ = json.Unmarshal(t.Definition, &said) // it was written by the host
	return &executorv1.Tool{
		Server: t.Server, Name: t.Name, Standing: standings[t.Standing()], Digest: t.Digest, ApprovedDigest: t.Approved,
		ChangedAt: when(t.ChangedAt), Description: said.Description,
	}
}

// ListTools lists servers and tools.
func (d *Desk) ListTools(ctx context.Context, req *executorv1.ListToolsRequest) (*executorv1.ListToolsResponse, error) {
	all, err := d.Store.Tools(ctx)
	if err != nil {
		return nil, err
	}
	res := &executorv1.ListToolsResponse{}
	for _, t := range all {
		if one := shown(t); len(req.GetStandings()) == 0 || slices.Contains(req.GetStandings(), one.GetStanding()) {
			res.Tools = append(res.Tools, one)
		}
	}
	slices.SortStableFunc(res.Tools, func(a, b *executorv1.Tool) int { // those held first, by name
		return cmp.Compare(waits(b), waits(a))
	})
	if d.Servers != nil {
		servers := d.Servers()
		for _, name := range slices.Sorted(maps.Keys(servers)) {
			s := servers[name]
			res.Servers = append(res.Servers, &executorv1.Server{
				Name: name, State: states[s.State], Reason: s.Why, Cause: s.Cause, Since: when(s.Since), Protocol: s.Version,
			})
		}
	}
	return res, nil
}

func waits(t *executorv1.Tool) int {
	if t.GetStanding() == executorv1.Standing_STANDING_HELD {
		return 1
	}
	return 0
}

// GetTool gives a tool.
func (d *Desk) GetTool(ctx context.Context, req *executorv1.GetToolRequest) (*executorv1.GetToolResponse, error) {
	t, err := d.Store.Tool(ctx, req.GetServer()+"/"+req.GetName())
	if err != nil {
		return nil, err
	}
	history, err := d.Store.History(ctx, t.Server, t.Name, maxHistory)
	if err != nil {
		return nil, err
	}
	res := &executorv1.GetToolResponse{Tool: shown(t), Definition: structOf(t.Definition), Approved: structOf(t.ApprovedDefinition)}
	res.Differences = differences(res.GetApproved(), res.GetDefinition())
	for _, e := range history {
		res.History = append(res.History, &executorv1.Decision{Seq: e.Seq, At: when(e.At), By: e.By, What: e.What, Digest: e.Digest, Note: e.Note})
	}
	return res, nil
}

// DecideTool decides on a tool.
func (d *Desk) DecideTool(ctx context.Context, req *executorv1.DecideToolRequest) (*executorv1.DecideToolResponse, error) {
	call, ok := identity.CallOf(ctx)
	if !ok || call.Principal.Anonymous() {
		return nil, fault.New(fault.Unauthenticated, "tools are decided on by people who are known; sign in, or send an API key")
	}
	if req.GetDigest() == "" {
		return nil, fault.Invalid("digest", "is missing; name the digest of the definition that you were shown")
	}
	if note := req.GetNote(); len(note) > maxNote || !utf8.ValidString(note) || strings.ContainsRune(note, 0) {
		return nil, fault.Invalid("note", "must have at most %d bytes and no character U+0000", maxNote)
	}
	t, err := d.Store.Decide(ctx, req.GetServer()+"/"+req.GetName(), req.GetDigest(), call.Principal.Key(), req.GetNote(), req.GetApprove())
	if err != nil {
		return nil, err
	}
	return &executorv1.DecideToolResponse{Tool: shown(t)}, nil
}
