package notice

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"

	"sabha.dev/chassis/clock"
	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/sqldb"
	reviewv1 "sabha.dev/gen/sabha/review/v1"
	"sabha.dev/services/review/internal/item"
)

const (
	// lookEvery is how often a replica looks for notices that are due. What it has
	// written itself it looks for at once.
	lookEvery = 2 * time.Second
	// batch is how many notices are taken up at once.
	batch = 100
	// held is how long a replica has what it took up. It is more than all of it takes.
	held = 2 * time.Minute
	// maxAttempts of a mail or a post to a chat, about a day of them. Events are never
	// given up.
	maxAttempts = 30
	firstRetry  = 10 * time.Second
	lastRetry   = time.Hour
	// eventRetry is the longest wait before an event is tried again.
	eventRetry = 5 * time.Second
	// askAgain is how soon to look again at an item whose requester is awaited.
	askAgain = 5 * time.Minute
)

// Items are what is told of.
type Items interface {
	Get(ctx context.Context, id string) (*item.Item, error)
}

// Config of a sender.
type Config struct {
	DB     *sqldb.DB
	NATS   *nats.Conn
	Items  Items
	Policy Policy
	Mail   MailConfig
	// Allow are networks that chats may be in beside the public ones.
	Allow []string
	// Console is the base URL of the console for links; empty for none.
	Console string
	Clock   clock.Clock
	Log     *slog.Logger
	Metrics prometheus.Registerer
}

// Sender tells what is to be told.
type Sender struct {
	rows    rows
	events  *publisher
	mail    *mailer
	chats   *chats
	items   Items
	policy  Policy
	console string
	clock   clock.Clock
	log     *slog.Logger
	// published and posted have the sender look soon for events, and for what is told people.
	published, posted chan struct{}
	counts            *prometheus.CounterVec
}

// New makes a sender. Run lets it begin.
func New(c Config) (*Sender, error) {
	s := &Sender{
		rows: rows{c.DB}, events: &publisher{nc: c.NATS}, items: c.Items, policy: c.Policy, console: c.Console, clock: c.Clock, log: c.Log,
		published: make(chan struct{}, 1), posted: make(chan struct{}, 1),
		counts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sabha_review_notices_total", Help: "Notices of reviews by channel and outcome.",
		}, []string{"channel", "outcome"}),
	}
	var err error
	if s.mail, err = newMailer(c.Mail); err != nil {
		return nil, err
	}
	if s.chats, err = newChats(c.Allow); err != nil {
		return nil, err
	}
	for _, channel := range []Channel{Event, Mail, Chat} {
		for _, outcome := range []string{sent, failed, givenUp, dropped} {
			s.counts.WithLabelValues(string(channel), outcome)
		}
	}
	return s, c.Metrics.Register(s.counts)
}

// Outcomes of notices: dropped is what was not to be told any more.
const (
	sent    = "sent"
	failed  = "failed"
	givenUp = "given_up"
	dropped = "dropped"
)

func (s *Sender) count(c Channel, outcome string, n int) {
	s.counts.WithLabelValues(string(c), outcome).Add(float64(n))
}

// poke has the sender look soon: a transaction of this replica is about to commit.
func (s *Sender) poke() {
	for _, pokes := range []chan struct{}{s.published, s.posted} {
		select {
		case pokes <- struct{}{}:
		default:
		}
	}
}

// Run tells until ctx ends. Pages follow events, so those do not wait for a mail server.
func (s *Sender) Run(ctx context.Context) {
	defer context.AfterFunc(ctx, s.chats.Close)()
	var both sync.WaitGroup
	both.Go(func() { s.run(ctx, s.published, true) })
	both.Go(func() { s.run(ctx, s.posted, false) })
	both.Wait()
}

// run tells events, or people.
func (s *Sender) run(ctx context.Context, pokes <-chan struct{}, events bool) {
	soon := lookEvery
	for {
		n, err := s.once(ctx, events)
		switch {
		case err != nil && ctx.Err() == nil:
			s.log.Error("notices of reviews were not told; they are tried again", "error", err)
			soon = lookEvery
		case n == batch:
			soon = 0
		case n > 0:
			soon = lookEvery
		default:
			soon = min(2*soon, lookEvery)
		}
		select {
		case <-ctx.Done():
			return
		case <-pokes:
			soon = pokedAfter / 2
			select {
			case <-ctx.Done():
				return
			case <-s.clock.After(pokedAfter):
			}
		case <-s.clock.After(soon):
		}
	}
}

// pokedAfter is what a commit is expected to take; a slower one is looked for again
// after twice as long, and so on.
const pokedAfter = 10 * time.Millisecond

// once tells what is due, at most a batch, and how many notices that were.
func (s *Sender) once(ctx context.Context, events bool) (int, error) {
	now := s.clock.Now()
	list, err := s.rows.claim(ctx, events, now, now.Add(held), batch)
	if err != nil || len(list) == 0 {
		return 0, err
	}
	slices.SortFunc(list, func(a, b Notice) int { return strings.Compare(a.ID, b.ID) })
	var errs []error
	letters := map[[2]string][]entry{}
	for _, n := range list {
		e, ok, err := s.timely(ctx, n, now)
		switch {
		case err != nil:
			errs = append(errs, err)
		case !ok:
		case n.Channel == Event:
			errs = append(errs, s.publish(ctx, e))
		default:
			key := [2]string{string(n.Channel), n.Queue}
			letters[key] = append(letters[key], e)
		}
	}
	for _, entries := range letters {
		errs = append(errs, s.tell(ctx, entries))
	}
	if !events {
		s.chats.Prune()
	}
	return len(list), errors.Join(errs...)
}

// timely tells whether a notice is still to be told. One of an item that has ended is
// removed, one that is too early is put off.
func (s *Sender) timely(ctx context.Context, n Notice, now time.Time) (entry, bool, error) {
	if len(n.Body) > 0 {
		return entry{notice: n}, true, nil
	}
	i, err := s.items.Get(ctx, n.ItemID)
	if err != nil && !fault.Is(err, fault.ItemNotFound) {
		return entry{}, false, err
	}
	if err != nil || i.Ended() {
		s.count(n.Channel, dropped, 1)
		return entry{}, false, s.rows.remove(ctx, []Notice{n})
	}
	var at time.Time
	switch n.What {
	case overdue:
		at = i.DueAt
	case dueSoon:
		at = s.policy.WarnAt(i.Terms).Add(i.Paused)
	}
	if i.State == reviewv1.State_STATE_ASKED && !at.IsZero() {
		at = now.Add(askAgain) // the time of the requester does not count
	}
	if now.Before(at) {
		n.SendAt, n.Attempts = at, 0
		return entry{}, false, s.rows.putOff(ctx, []Notice{n}, "")
	}
	return entry{n, i}, true, nil
}

func (s *Sender) publish(ctx context.Context, e entry) error {
	n, body := e.notice, e.notice.Body
	if e.item != nil {
		var err error
		if body, err = published(e.item, n.What, item.Policy, s.clock.Now()); err != nil {
			return err
		}
	}
	err := s.events.publish(ctx, n.ID, Subject(n.Queue, n.What), body)
	return s.settle(ctx, []Notice{n}, err)
}

// tell tells the people of one queue by one channel.
func (s *Sender) tell(ctx context.Context, entries []entry) error {
	n := entries[0].notice
	r := s.policy.Recipients(n.Queue)
	list := make([]Notice, len(entries))
	for i, e := range entries {
		list[i] = e.notice
	}
	l := write(r, s.console, entries)
	var err error
	switch {
	case n.Channel == Mail && s.mail != nil && len(r.Mail) > 0:
		err = s.mail.send(ctx, r.Mail, list[0].ID, l, s.clock.Now())
	case n.Channel == Chat && r.Chat != "":
		err = s.chats.post(r.Chat, l)
	default: // nobody is to be told any more
		s.count(n.Channel, dropped, len(list))
		return s.rows.remove(ctx, list)
	}
	return s.settle(ctx, list, err)
}

// settle removes what was told, and puts off what was not.
func (s *Sender) settle(ctx context.Context, list []Notice, problem error) error {
	n := list[0]
	if problem == nil {
		s.count(n.Channel, sent, len(list))
		return s.rows.remove(ctx, list)
	}
	if ctx.Err() != nil {
		return nil // the service stops; another replica tells it
	}
	s.count(n.Channel, failed, len(list))
	s.log.Warn("a notice of reviews was not told", "channel", n.Channel, "queue", n.Queue, "attempt", n.Attempts, "error", problem)
	var again, over []Notice
	for _, n := range list {
		if n.Channel != Event && n.Attempts >= maxAttempts {
			over = append(over, n)
			continue
		}
		n.SendAt = s.clock.Now().Add(backoff(n))
		again = append(again, n)
	}
	if len(over) > 0 {
		s.count(n.Channel, givenUp, len(over))
		s.log.Error("notices of reviews are given up", "channel", n.Channel, "queue", n.Queue, "count", len(over), "error", problem)
	}
	return errors.Join(s.rows.remove(ctx, over), s.rows.putOff(ctx, again, problem.Error()))
}

func backoff(n Notice) time.Duration {
	if n.Channel == Event {
		return min(time.Duration(n.Attempts)*time.Second, eventRetry)
	}
	d := firstRetry
	for range n.Attempts - 1 {
		if d *= 2; d >= lastRetry {
			return lastRetry
		}
	}
	return d
}
