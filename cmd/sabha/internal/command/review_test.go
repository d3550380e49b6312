package command_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"sabha.dev/chassis/fault"
	"sabha.dev/cmd/sabha/internal/rig"
	reviewv1 "sabha.dev/gen/sabha/review/v1"
)

const digest = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// people is a review service with one item.
type people struct {
	reviewv1.UnimplementedReviewServiceServer
	item    *reviewv1.Item
	decided *reviewv1.DecideRequest
	listed  *reviewv1.ListItemsRequest
}

func (p *people) ListItems(_ context.Context, req *reviewv1.ListItemsRequest) (*reviewv1.ListItemsResponse, error) {
	p.listed = req
	return &reviewv1.ListItemsResponse{Items: []*reviewv1.Item{p.item}, Open: 1, Overdue: 1}, nil
}

func (p *people) GetItem(_ context.Context, req *reviewv1.GetItemRequest) (*reviewv1.GetItemResponse, error) {
	if req.GetId() != p.item.GetId() {
		return nil, fault.New(fault.ItemNotFound, "there is no item %q", req.GetId())
	}
	return &reviewv1.GetItemResponse{Detail: &reviewv1.Detail{
		Item: p.item, Content: structpb.NewStringValue("Dear Sir\x1b[2J"), Effect: "The letter is sent.", Reasons: []string{"too short"},
		History: []*reviewv1.Event{{At: p.item.GetDueAt(), By: "policy", What: "created", Note: "in the queue general"}},
	}}, nil
}

func (p *people) Claim(context.Context, *reviewv1.ClaimRequest) (*reviewv1.ClaimResponse, error) {
	return nil, fault.New(fault.ItemHeld, "acme/lena holds item i1 until noon")
}

func (p *people) ListPeople(context.Context, *reviewv1.ListPeopleRequest) (*reviewv1.ListPeopleResponse, error) {
	return &reviewv1.ListPeopleResponse{People: []string{"acme/lena", "acme/meera"}}, nil
}

func (p *people) Reassign(_ context.Context, req *reviewv1.ReassignRequest) (*reviewv1.ReassignResponse, error) {
	if req.GetTo() != "acme/meera" || req.GetNote() != "yours" {
		return nil, fault.Invalid("to", "%s may not decide on item i1", req.GetTo())
	}
	return &reviewv1.ReassignResponse{Item: &reviewv1.Item{Id: "i1", Queue: "general", Risk: "low", Title: "A letter", State: reviewv1.State_STATE_OPEN, Holder: "acme/meera"}}, nil
}

func (p *people) Decide(_ context.Context, req *reviewv1.DecideRequest) (*reviewv1.DecideResponse, error) {
	p.decided = req
	if req.GetDigest() != digest {
		return nil, fault.New(fault.ItemChanged, "item i1 is not what you were shown any more")
	}
	return &reviewv1.DecideResponse{Item: &reviewv1.Item{Id: "i1", Queue: "general", Risk: "low", Title: "A letter", State: reviewv1.State_STATE_APPROVED}}, nil
}

func TestReviewsAreSeenAndDecidedWithoutABrowser(t *testing.T) {
	p := &people{item: &reviewv1.Item{
		Id: "i1", Queue: "general", Risk: "low", Product: "letters", Title: "A letter", State: reviewv1.State_STATE_OPEN, Digest: digest, Requester: "acme/ada",
		RootTaskId: "t1", DueAt: timestamppb.New(time.Date(2026, 1, 2, 18, 0, 0, 0, time.UTC)), MayDecide: true,
	}}
	server := rig.Start(t, rig.Script{Reviews: p})
	const head = "DUE                  ITEM  QUEUE    RISK  STATE  TITLE\n"
	for _, c := range []struct {
		args []string
		out  string
		err  string
		code int
	}{
		{[]string{"list", "--mine", "--risk", "low"}, head + "2026-01-02 18:00:00  i1    general  low   open   A letter\n1 wait, 1 overdue, 0 held by you.\n", "", 0},
		{[]string{"show", "i1"}, "A letter\n  state      open\n  queue      general\n  due        2026-01-02 18:00:00\n  asked by   acme/ada\n  task       t1\n" +
			"  product    letters, risk low\n  effect     The letter is sent.\n  reason     too short\n  digest     0123456789ab\n\nContent\n  Dear Sir [2J\n\n" +
			"History\n  2026-01-02 18:00:00  created by policy  in the queue general\n", "", 0},
		{[]string{"show", "i2"}, "", "there is no item", 7},
		{[]string{"claim", "i1"}, "", "acme/lena holds item i1 until noon", 2},
		{[]string{"reassign", "i1"}, "acme/lena\nacme/meera\n", "", 0},
		{[]string{"reassign", "i1", "--to", "acme/meera", "--note", "yours"}, "DUE  ITEM  QUEUE    RISK  STATE                     TITLE\n–    i1    general  low   open, held by acme/meera  A letter\n", "", 0},
		{[]string{"reassign", "i1", "--to", "acme/ada"}, "", "acme/ada may not decide on item i1", 2},
		{[]string{"approve", "i1"}, "", "--digest is missing or shorter than 12 digits", 2},
		{[]string{"approve", "i1", "--digest", "0123456789ab", "--edited", "Dear"}, "", "--edited is no JSON", 2},
		{[]string{"approve", "i1", "--digest", "ffffffffffff"}, "", "item i1 is not what you were shown any more", 1},
		{
			[]string{"approve", "i1", "--digest", "0123456789ab", "--edited", `{"a":[1]}`, "--reason", "fine"},
			"DUE  ITEM  QUEUE    RISK  STATE     TITLE\n–    i1    general  low   approved  A letter\n", "", 0,
		},
	} {
		u := newUser(server.URL)
		code := u.run(t.Context(), append([]string{"review"}, c.args...)...)
		if int(code) != c.code || u.out.String() != c.out || !strings.Contains(u.err.String(), c.err) {
			t.Errorf("%v: exit code %d\n%s\n%s\nwant %d\n%s\n%s", c.args, code, u.out.String(), u.err.String(), c.code, c.out, c.err)
		}
	}
	if d := p.decided; !d.GetApprove() || d.GetReason() != "fine" || d.GetEdited().GetStructValue() == nil {
		t.Errorf("decided: %v", d)
	}
	if !p.listed.GetMine() || p.listed.GetRisk() != "low" {
		t.Errorf("listed: %v", p.listed)
	}
}
