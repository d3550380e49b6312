// Package call keeps what has become of the call that a task makes to a partner, so that
// any replica goes on with it: it asks no partner twice, and follows the partner's task.
package call

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"sabha.dev/chassis/clock"
	"sabha.dev/chassis/sqldb"
	"sabha.dev/services/partners/internal/partner"
)

// Phase of a call.
type Phase string

// The phases.
const (
	// Confirming waits for a person who allows the call.
	Confirming Phase = "confirming"
	// Sending has decided what leaves; the partner may have it or not.
	Sending Phase = "sending"
	// Following has a task of the partner's.
	Following Phase = "following"
	// Asking waits for our client, whom the partner asks.
	Asking Phase = "asking"
	// Escalated waits for a person who answers in the partner's place.
	Escalated Phase = "escalated"
)

// Call is that of one task.
type Call struct {
	Task string `json:"-"`
	// To is whom the call is to now; First whom the task names.
	To    partner.Address   `json:"to"`
	First partner.Address   `json:"first"`
	Tried []partner.Address `json:"tried,omitempty"`
	Phase Phase             `json:"phase"`
	// Attempt counts those whom the call was to before To. It is part of the message id.
	Attempt int `json:"attempt,omitempty"`
	// Retries of the message at hand at To.
	Retries int `json:"retries,omitempty"`
	// Current is the place of the client's message at hand among all of them; Heard is how
	// many have been taken, for the partner or for a person who asked.
	Current int `json:"current,omitempty"`
	Heard   int `json:"heard,omitempty"`
	// Review is the task of the review that is waited for.
	Review string `json:"review,omitempty"`
	// Confirmed says that a person has allowed the message at hand to leave.
	Confirmed bool `json:"confirmed,omitempty"`
	// Request is the request as it leaves, in protobuf. Sealed is what resolves the tokens in the answer.
	Request []byte `json:"request,omitempty"`
	Sealed  []byte `json:"sealed,omitempty"`
	// Binding, RemoteTask and RemoteContext are the partner's.
	Binding       string `json:"binding,omitempty"`
	RemoteTask    string `json:"remote_task,omitempty"`
	RemoteContext string `json:"remote_context,omitempty"`
	// Began is when the partner was asked.
	Began time.Time `json:"began,omitzero"`
	// Polls counts looks at the partner's task without news.
	Polls int `json:"polls,omitempty"`
	// Failure is why the last attempt failed.
	Failure string `json:"failure,omitempty"`
	// Hook is the secret in the address of the partner's notifications, Token what they carry;
	// empty for calls of before there was one, whose token is the secret.
	Hook  string `json:"hook,omitempty"`
	Token string `json:"token,omitempty"`
	// Seen is the newest place of the partner's task that was heard of.
	Seen Place `json:"seen,omitzero"`
}

// NewHook gives the call secrets for the partner's notifications.
func (c *Call) NewHook() { c.Hook, c.Token = rand.Text()+rand.Text(), rand.Text() }

// Store keeps calls.
type Store struct {
	db    *sqldb.DB
	clock clock.Clock
}

// NewStore makes a store over a migrated database.
func NewStore(db *sqldb.DB, c clock.Clock) *Store { return &Store{db, c} }

// Get gives the call of a task, or nil when there is none yet.
func (s *Store) Get(ctx context.Context, task string) (*Call, error) {
	var body []byte
	err := s.db.Read.QueryRowContext(ctx, `SELECT body FROM partner_calls WHERE task = $1`, task).Scan(&body)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	c := &Call{Task: task}
	if err := json.Unmarshal(body, c); err != nil {
		return nil, fmt.Errorf("call of task %s: %w", task, err)
	}
	return c, nil
}

// Put writes a call as it is now, in the transaction of its task.
func (s *Store) Put(c *Call) func(context.Context, *sql.Tx) error {
	body, err := json.Marshal(c)
	now, hook := s.clock.Now().UnixNano(), digest(c.Hook)
	return func(ctx context.Context, tx *sql.Tx) error {
		if err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `INSERT INTO partner_calls (task, partner, skill, hook, body, updated_at) VALUES ($1, $2, $3, $4, $5, $6)
			ON CONFLICT (task) DO UPDATE SET partner = excluded.partner, skill = excluded.skill, hook = excluded.hook, body = excluded.body, updated_at = excluded.updated_at`,
			c.Task, c.To.Partner, c.To.Skill, hook, body, now)
		return err
	}
}

// End takes out of a call what nobody needs after its end: what left, and the secrets.
func (s *Store) End(c *Call) func(context.Context, *sql.Tx) error {
	ended := *c
	ended.Request, ended.Sealed, ended.Hook, ended.Token = nil, nil, "", ""
	put := s.Put(&ended)
	if c.Hook == "" {
		return put
	}
	return func(ctx context.Context, tx *sql.Tx) error {
		if err := put(ctx, tx); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `DELETE FROM partner_states WHERE hook = $1`, digest(c.Hook))
		return err
	}
}

// Hooked gives the call whose notifications have a secret, or nil.
func (s *Store) Hooked(ctx context.Context, secret string) (*Call, error) {
	c := &Call{}
	var body []byte
	err := s.db.Read.QueryRowContext(ctx, `SELECT task, body FROM partner_calls WHERE hook = $1`, digest(secret)).Scan(&c.Task, &body)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(body, c); err != nil {
		return nil, fmt.Errorf("call of task %s: %w", c.Task, err)
	}
	return c, nil
}

func digest(secret string) any {
	if secret == "" {
		return nil
	}
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// Clear removes calls that nothing has happened to since a time. Those of tasks that go on
// are written at least as often as their budgets end.
func (s *Store) Clear(ctx context.Context, before time.Time) (int64, error) {
	if _, err := s.db.Write.ExecContext(ctx, `DELETE FROM partner_states WHERE updated_at < $1`, before.UnixNano()); err != nil {
		return 0, err
	}
	res, err := s.db.Write.ExecContext(ctx, `DELETE FROM partner_calls WHERE updated_at < $1`, before.UnixNano())
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}
