package crossing

import (
	"context"
	"encoding/base64"
	"strconv"
	"strings"

	"google.golang.org/protobuf/types/known/timestamppb"

	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/identity"
	"sabha.dev/chassis/sensitive"
	partnersv1 "sabha.dev/gen/sabha/partners/v1"
)

// Bounds of a page.
const (
	defaultPage = 50
	maxPage     = 200
)

// RPC serves sabha.partners.v1.CrossingService.
type RPC struct {
	partnersv1.UnimplementedCrossingServiceServer
	Ledger *Ledger
}

// Policy says who may call it.
func Policy() identity.Policy {
	return identity.Policy{partnersv1.CrossingService_ListCrossings_FullMethodName: {
		Actors: []string{identity.Gateway, identity.Console}, Scopes: []string{identity.Operator, identity.Auditor, identity.Admin},
	}}
}

// ListCrossings lists crossings, the newest first.
func (r *RPC) ListCrossings(ctx context.Context, req *partnersv1.ListCrossingsRequest) (*partnersv1.ListCrossingsResponse, error) {
	size := int(req.GetPageSize())
	if size == 0 {
		size = defaultPage
	}
	f := Filter{Partner: req.GetPartner(), Task: req.GetTaskId(), Class: sensitive.Class(req.GetClass()), Limit: size + 1}
	switch {
	case size < 1 || size > maxPage:
		return nil, fault.Invalid("page_size", "must be from 1 to %d, or 0 for %d", maxPage, defaultPage)
	case f.Class != "" && !f.Class.Valid() && f.Class != "labelled" && f.Class != "unreadable":
		return nil, fault.Invalid("class", "%q is not a class; there are %s, labelled and unreadable", req.GetClass(), classes())
	case strings.ContainsRune(f.Partner+f.Task, 0):
		return nil, fault.Invalid("partner", "must not contain the character U+0000")
	}
	if t := req.GetSince(); t != nil {
		if t.CheckValid() != nil {
			return nil, fault.Invalid("since", "is not a time between the years 1 and 9999")
		}
		f.Since = t.AsTime()
	}
	if req.GetPageToken() != "" {
		var ok bool
		if f.After, ok = readToken(req.GetPageToken()); !ok {
			return nil, fault.Invalid("page_token", "must be the next_page_token of the page before")
		}
	}
	list, err := r.Ledger.List(ctx, f)
	if err != nil {
		return nil, err
	}
	res := &partnersv1.ListCrossingsResponse{}
	if len(list) > size {
		list = list[:size]
		last := list[size-1]
		res.NextPageToken = token(Key{last.At.UnixMicro(), last.ID})
	}
	for _, c := range list {
		res.Crossings = append(res.Crossings, shown(c))
	}
	return res, nil
}

func classes() string {
	var names []string
	for _, c := range sensitive.Classes() {
		names = append(names, string(c))
	}
	return strings.Join(names, ", ")
}

func shown(c Crossing) *partnersv1.Crossing {
	direction := partnersv1.Direction_DIRECTION_OUT
	if c.Direction == In {
		direction = partnersv1.Direction_DIRECTION_IN
	}
	out := &partnersv1.Crossing{
		Id: c.ID, TaskId: c.Task, Partner: c.Partner, Skill: c.Skill, Direction: direction, At: timestamppb.New(c.At), Bytes: c.Bytes, Digest: c.Digest,
		Policy: c.Policy, Refused: c.Refused, MoreFindings: int32(c.More), Purpose: c.Purpose.Name, Consent: c.Purpose.Consent,
	}
	for _, f := range c.Findings {
		out.Findings = append(out.Findings, &partnersv1.Detection{
			Part: int32(f.Part), Path: f.Path, Class: string(f.Class), Kind: f.Kind, Start: f.Start, End: f.End, Action: string(f.Action), Rule: f.Rule,
		})
	}
	return out
}

func token(k Key) string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(k.At, 10) + " " + k.ID))
}

func readToken(text string) (Key, bool) {
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || strings.ContainsRune(string(raw), 0) {
		return Key{}, false
	}
	at, id, ok := strings.Cut(string(raw), " ")
	n, err := strconv.ParseInt(at, 10, 64)
	return Key{n, id}, ok && err == nil && id != ""
}
