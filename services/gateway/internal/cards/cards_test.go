package cards_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"sabha.dev/chassis/fault"
	adminv1 "sabha.dev/gen/sabha/admin/v1"
	"sabha.dev/services/gateway/internal/cards"
	"sabha.dev/services/gateway/internal/legacy"
	"sabha.dev/testrig/clocktest"
)

// persona gives its card in a version that a test chooses, or an error.
type persona struct {
	adminv1.AdminServiceClient
	version string
	err     error
	asked   int
}

func (p *persona) GetCard(context.Context, *adminv1.GetCardRequest, ...grpc.CallOption) (*adminv1.GetCardResponse, error) {
	p.asked++
	raw, err := proto.Marshal(&a2apb.AgentCard{Name: "research", Version: p.version})
	return &adminv1.GetCardResponse{Card: raw}, errors.Join(p.err, err)
}

func TestCardsAreFreshEnoughAndOutliveTheirAgent(t *testing.T) {
	p := &persona{err: errors.New("dial tcp 10.1.2.3:9100: refused")}
	c := clocktest.New(time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC))
	s := cards.New(cards.Address{HTTP: "http://localhost:1", GRPC: "localhost:2"}, map[string]adminv1.AdminServiceClient{"research": p}, c, slog.New(slog.DiscardHandler))

	_, err := s.Card(t.Context(), "research")
	if e := fault.As(err); e == nil || e.Reason != fault.Unavailable || e.Message != "the agent cannot be reached at the moment; try again later" {
		t.Errorf("before any card is known: %v, want UNAVAILABLE without an address", err)
	}
	for _, step := range []struct {
		name    string
		after   time.Duration
		version string
		err     error
		want    string
		asked   int
	}{
		{"the agent is there", 0, "1", nil, "1", 2},
		{"young enough", 29 * time.Second, "2", nil, "1", 2},
		{"too old", time.Second, "2", nil, "2", 3},
		{"the agent is gone", 30 * time.Second, "3", errors.New("gone"), "2", 4},
		{"it is not asked at every call", 4 * time.Second, "3", nil, "2", 4},
		{"it is back", time.Second, "3", nil, "3", 5},
	} {
		c.Advance(step.after)
		p.version, p.err = step.version, step.err
		card, err := s.Card(t.Context(), "research")
		if err != nil || card.GetVersion() != step.want || p.asked != step.asked {
			t.Errorf("%s: version %q, asked %d times, %v; want %q, %d", step.name, card.GetVersion(), p.asked, err, step.want, step.asked)
		}
	}
	if _, err := s.Card(t.Context(), "nobody"); !fault.Is(err, fault.UnknownTenant) {
		t.Errorf("an unknown tenant: %v", err)
	}
}

func TestCardsDeclareEveryWayToBeKnown(t *testing.T) {
	for name, c := range map[string]struct {
		address cards.Address
		want    []string
	}{
		"keys only": {cards.Address{}, []string{"apiKey", "bearer", "basic"}},
		"all": {
			cards.Address{Issuers: []string{"https://a.example/", "https://b.example", "https://c.example"}, Discovered: []string{"https://a.example/", "https://b.example"}, Certificates: true},
			[]string{"apiKey", "bearer", "basic", "openIdConnect", "openIdConnect2", "mtls"},
		},
	} {
		card := cards.New(c.address, nil, nil, nil).Complete("", &a2apb.AgentCard{})
		var names []string
		for _, alternative := range card.GetSecurityRequirements() {
			for one := range alternative.GetSchemes() {
				names = append(names, one)
				if card.GetSecuritySchemes()[one].GetScheme() == nil {
					t.Errorf("%s: %s is not declared", name, one)
				}
			}
		}
		if !slices.Equal(names, c.want) || len(card.GetSecuritySchemes()) != len(c.want) {
			t.Errorf("%s: %v, want the alternatives %v", name, names, c.want)
		}
		if s := card.GetSecuritySchemes()["openIdConnect"]; s != nil && s.GetOpenIdConnectSecurityScheme().GetOpenIdConnectUrl() != "https://a.example/.well-known/openid-configuration" {
			t.Errorf("%s: %v", name, s)
		}
		if old, err := legacy.Card(card); err != nil || strings.Contains(strings.Join(c.want, ""), "mtls") != strings.Contains(string(old), `"type":"mutualTLS"`) {
			t.Errorf("%s, for readers of 0.3: %s %v", name, old, err)
		}
	}
}
