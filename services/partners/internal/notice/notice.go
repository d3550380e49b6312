// Package notice takes the push notifications of partners about their tasks. Who knows the
// secret of a call and its token may say that something has happened, and the partner is
// asked; what is signed with a key of the partner's as well is believed, and is the state.
package notice

import (
	"context"
	"log/slog"

	"sabha.dev/chassis/cardsig"
	"sabha.dev/chassis/clock"
	"sabha.dev/chassis/identity"
	"sabha.dev/chassis/taskstore"
	partnersv1 "sabha.dev/gen/sabha/partners/v1"
	"sabha.dev/services/partners/internal/call"
	"sabha.dev/services/partners/internal/cardtrust"
	"sabha.dev/services/partners/internal/partner"
)

// Directory knows the partners.
type Directory interface {
	Partner(ctx context.Context, id string) (*partner.Partner, error)
}

// Keys are those that partners sign notifications with.
type Keys interface {
	// Notified says what is believed of the notifications of a partner.
	Notified(*partner.Partner) cardtrust.Policy
	// NotifierKey finds the key that a signature names. Its error holds
	// [cardtrust.ErrUnreachable] when keys cannot be had at the moment.
	NotifierKey(ctx context.Context, p *partner.Partner, id, jku string) (cardsig.Key, error)
}

// Config of a receiver. Everything must be set.
type Config struct {
	Directory Directory
	Keys      Keys
	Calls     *call.Store
	// Resume wakes a task, wherever it runs or rests, in one transaction with rows.
	Resume func(ctx context.Context, task string, rows taskstore.Rows) error
	// Hooks is the URL that partners were told, without the secret.
	Hooks  string
	Clock  clock.Clock
	Log    *slog.Logger
	Counts *Counts
}

// Receiver serves sabha.partners.v1.NotificationService.
type Receiver struct {
	partnersv1.UnimplementedNotificationServiceServer
	Config
}

// New makes a receiver.
func New(c Config) *Receiver { return &Receiver{Config: c} }

// Policy says who may call it.
func Policy() identity.Policy {
	return identity.Policy{partnersv1.NotificationService_TakeNotification_FullMethodName: {Actors: []string{identity.Gateway}}}
}
