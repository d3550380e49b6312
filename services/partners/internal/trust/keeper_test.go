package trust_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"sabha.dev/services/partners/internal/partner"
	"sabha.dev/services/partners/internal/trust"
	"sabha.dev/testrig/clocktest"
)

// book is a registry, a ledger and a record.
type book struct {
	partners []*partner.Partner
	days     map[string][]trust.Day
	marks    []trust.Mark
	parts    map[string]json.RawMessage
	away     string // the partner whose days cannot be read
}

func (b *book) Partners(context.Context) ([]*partner.Partner, error) { return b.partners, nil }

func (b *book) SetTrust(_ context.Context, id string, score float64, parts json.RawMessage) error {
	for _, p := range b.partners {
		if p.ID == id {
			p.Trust = score
		}
	}
	b.parts[id] = parts
	return nil
}

func (b *book) Days(_ context.Context, id string, _ time.Time) ([]trust.Day, error) {
	if id == b.away {
		return nil, errors.New("the database is away")
	}
	return b.days[id], nil
}

func (b *book) Marks(context.Context, time.Time) (map[string][]trust.Mark, error) {
	return map[string][]trust.Mark{"underwriter plc": b.marks}, nil
}

func newKeeper(b *book) *trust.Keeper {
	b.parts = map[string]json.RawMessage{}
	return trust.NewKeeper(trust.Config{
		Registry: b, Ledgers: []trust.Ledger{b}, Records: []trust.Record{b}, Clock: clocktest.New(now), Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
}

func TestAnotherNameBeginsAtNothingWithTheOrganisationsMarks(t *testing.T) {
	b := &book{
		partners: []*partner.Partner{
			{ID: "underwriter", Organisation: "Underwriter plc", State: partner.Approved},
			{ID: "fresh", Organisation: "underwriter  PLC", State: partner.Approved},
			{ID: "grown", Organisation: "UNDERWRITER plc", State: partner.Approved},
			{ID: "other", Organisation: "Other Ltd", State: partner.Approved},
		},
		days:  map[string][]trust.Day{"underwriter": goodDays(90, 0), "grown": goodDays(90, 0), "other": goodDays(90, 0)},
		marks: []trust.Mark{{Kind: trust.Drift, Partner: "underwriter", At: now, Open: true}},
	}
	if err := newKeeper(b).All(t.Context()); err != nil {
		t.Fatal(err)
	}
	own, fresh, grown, other := b.partners[0].Trust, b.partners[1].Trust, b.partners[2].Trust, b.partners[3].Trust
	if fresh != 0 {
		t.Errorf("a new name begins at %v", fresh)
	}
	if !(own < grown && grown < other && other > 0.85) {
		t.Errorf("with a drift of its own %v, of the organisation %v, clean %v", own, grown, other)
	}
	if parts := string(b.parts["grown"]); !strings.Contains(parts, `"other":true`) || !strings.Contains(parts, `"factor":0.75`) {
		t.Errorf("its parts are %s", parts)
	}
}

func TestASuspendedPartnerHasHalf(t *testing.T) {
	b := &book{partners: []*partner.Partner{{ID: "underwriter", State: partner.Suspended}}, days: map[string][]trust.Day{"underwriter": goodDays(90, 0)}}
	if err := newKeeper(b).All(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, clean := b.partners[0].Trust, score(goodDays(90, 0)); got > clean/2+0.001 || got < clean/2-0.01 {
		t.Errorf("it is %v, clean %v", got, clean)
	}
}

func TestOnePartnersTroubleHoldsUpNobody(t *testing.T) {
	b := &book{
		partners: []*partner.Partner{{ID: "a"}, {ID: "b"}}, away: "a",
		days: map[string][]trust.Day{"b": goodDays(30, 0)},
	}
	err := newKeeper(b).All(t.Context())
	if err == nil || b.partners[1].Trust < 0.7 {
		t.Errorf("the second partner has %v (%v)", b.partners[1].Trust, err)
	}
}
