package contract

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"sabha.dev/chassis/eventlog"
	"sabha.dev/services/partners/internal/drift"
)

// Stream holds the events of contract tests, on subjects sabha.contracts.PARTNER.WHAT.
const Stream = "SABHA_CONTRACTS"

// Bounds of the stream: what is older or beyond is gone.
const (
	maxAge   = 7 * 24 * time.Hour
	maxBytes = 16 << 20
)

// Channels of what is to be done.
const (
	channelEvent   = "event"
	channelSuspend = "suspend"
)

// event is what is published, and what a suspension says.
type event struct {
	Partner      string          `json:"partner"`
	Organisation string          `json:"organisation"`
	What         string          `json:"what"`
	Run          int64           `json:"run"`
	At           time.Time       `json:"at"`
	Action       Action          `json:"action"`
	P            float64         `json:"p"`
	Findings     []drift.Finding `json:"findings,omitempty"`
	Bad          int             `json:"bad"`
	Answers      int             `json:"answers"`
	Reason       string          `json:"reason"`
}

// tell writes what is to be done of a verdict, in the transaction that finds it.
func tell(ctx context.Context, tx *sql.Tx, v *Verdict, what string, at time.Time) error {
	var f Figures
	if err := json.Unmarshal(v.Figures, &f); err != nil {
		return err
	}
	e := event{
		Partner: v.Partner, Organisation: v.Organisation, What: what, Run: v.Number, At: at.UTC(), Action: v.Action,
		P: f.P, Findings: f.Findings[:min(3, len(f.Findings))], Bad: f.Bad, Answers: f.Answers, Reason: reason(v.Kind, f),
	}
	body, err := json.Marshal(e)
	if err != nil {
		return err
	}
	channels := []string{channelEvent}
	if v.Action == Suspend && what == v.Kind {
		channels = append(channels, channelSuspend)
	}
	for _, channel := range channels {
		_, err := tx.ExecContext(ctx, `INSERT INTO contract_notices (id, channel, partner, what, body, send_at, attempts) VALUES ($1,$2,$3,$4,$5,$6,0)`,
			fmt.Sprintf("%s/%d/%s/%s", v.Partner, v.Number, what, channel), channel, v.Partner, what, string(body), micros(at))
		if err != nil {
			return err
		}
	}
	return nil
}

// reason says in a sentence what was found.
func reason(kind string, f Figures) string {
	if kind == Failing {
		said := fmt.Sprintf("contract tests: %d of %d answers of the last %d runs were bad, more than the %d allowed", f.Bad, f.Answers, f.Runs, f.Allowed)
		if len(f.Problems) > 0 {
			said += "; the latest: " + f.Problems[0]
		}
		return said
	}
	if len(f.Findings) == 0 {
		return "contract tests: " + kind
	}
	top := f.Findings[0]
	name := top.Measure
	if top.Category != "" {
		name += " " + top.Category
	}
	return fmt.Sprintf("contract tests: the %s of %s moved by %.1f standard errors (%d runs against %d of the baseline)", top.Aspect, name, top.Z, f.Runs, f.BaselineRuns)
}

// notice is a row of what is to be done.
type notice struct {
	id, channel, partner, what, body string
	attempts                         int
}

// claimNotices takes what is due; no other replica takes it before until.
func (s *Store) claimNotices(ctx context.Context, now, until time.Time) ([]notice, error) {
	var due int
	if err := s.db.Read.QueryRowContext(ctx, `SELECT count(*) FROM (SELECT 1 FROM contract_notices WHERE send_at <= $1 LIMIT 1) AS x`, now.UnixMicro()).Scan(&due); err != nil || due == 0 {
		return nil, err
	}
	return list(ctx, s.db.Write, func(rows *sql.Rows) (n notice, err error) {
		return n, rows.Scan(&n.id, &n.channel, &n.partner, &n.what, &n.body, &n.attempts)
	}, `UPDATE contract_notices SET send_at = $1, attempts = attempts + 1
		WHERE send_at <= $2 AND id IN (SELECT id FROM contract_notices WHERE send_at <= $2 ORDER BY send_at, id LIMIT 50)
		RETURNING id, channel, partner, what, body, attempts`, until.UnixMicro(), now.UnixMicro())
}

func (s *Store) putOff(ctx context.Context, n notice, at time.Time) error {
	_, err := s.db.Write.ExecContext(ctx, `UPDATE contract_notices SET send_at = $1 WHERE id = $2`, at.UnixMicro(), n.id)
	return err
}

func (s *Store) done(ctx context.Context, n notice) error {
	_, err := s.db.Write.ExecContext(ctx, `DELETE FROM contract_notices WHERE id = $1`, n.id)
	return err
}

// lastRetry is the longest wait before something is tried again.
const lastRetry = time.Minute

// carry does what is due of verdicts: publishes events and suspends partners.
func (m *Monitor) carry(ctx context.Context) error {
	now := m.clock.Now()
	due, err := m.store.claimNotices(ctx, now, now.Add(2*time.Minute))
	for _, n := range due {
		var problem error
		if n.channel == channelSuspend {
			var e event
			if problem = json.Unmarshal([]byte(n.body), &e); problem == nil {
				problem = m.registry.Suspend(ctx, n.partner, policy, e.Reason)
			}
		} else {
			problem = m.publish(ctx, n)
		}
		if problem == nil {
			err = errors.Join(err, m.store.done(ctx, n))
			continue
		}
		m.log.Warn("a finding of contract tests was not passed on; it is tried again", "partner", n.partner, "what", n.what, "channel", n.channel, "error", problem)
		err = errors.Join(err, m.store.putOff(ctx, n, now.Add(min(time.Duration(n.attempts)*2*time.Second, lastRetry))))
	}
	return err
}

var errAway = errors.New("NATS is not connected")

func (m *Monitor) publish(ctx context.Context, n notice) error {
	if m.nats == nil || !m.nats.IsConnected() {
		return errAway
	}
	if m.stream == nil {
		js, err := jetstream.New(m.nats)
		if err != nil {
			return err
		}
		if _, err := eventlog.Ensure(ctx, js, jetstream.StreamConfig{
			Name: Stream, Subjects: []string{"sabha.contracts.>"}, Storage: jetstream.FileStorage, Retention: jetstream.LimitsPolicy,
			Discard: jetstream.DiscardOld, MaxAge: maxAge, MaxBytes: maxBytes, AllowDirect: true,
		}); err != nil {
			return err
		}
		m.stream = js
	}
	_, err := m.stream.PublishMsg(ctx, &nats.Msg{
		Subject: "sabha.contracts." + n.partner + "." + n.what, Data: []byte(n.body), Header: nats.Header{"Content-Type": {"application/json"}},
	}, jetstream.WithMsgID(n.id))
	return err
}

// jitter is a share of a span that follows from what it is for, so that replicas and
// restarts agree on it.
func jitter(partner string, at time.Time, span time.Duration) time.Duration {
	if span <= 0 {
		return 0
	}
	h := uint64(14695981039346656037)
	for _, b := range fmt.Appendf(nil, "%s/%d", partner, at.UnixMicro()) {
		h = (h ^ uint64(b)) * 1099511628211
	}
	return time.Duration(h % uint64(span))
}
