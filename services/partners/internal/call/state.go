package call

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/chassis/ext"
)

// Place of an event among those of the partner's task, as agents that are Sabha's number
// them: epochs grow when a database was restored, versions with each event. The zero value
// is before all.
type Place struct {
	Epoch   int64 `json:"epoch"`
	Version int64 `json:"version"`
}

// ParsePlace reads "epoch.version".
func ParsePlace(text string) (Place, bool) {
	epoch, version, ok := strings.Cut(text, ".")
	var p Place
	var err1, err2 error
	p.Epoch, err1 = strconv.ParseInt(epoch, 10, 64)
	p.Version, err2 = strconv.ParseInt(version, 10, 64)
	return p, ok && err1 == nil && err2 == nil && p.Epoch >= 0 && p.Version >= 0
}

// After tells whether a place comes after another.
func (p Place) After(o Place) bool {
	return p.Epoch > o.Epoch || p.Epoch == o.Epoch && p.Version > o.Version
}

// PlaceOf is the place that the partner's metadata states; zero for none.
func PlaceOf(metadata *structpb.Struct) Place {
	p, ok := ParsePlace(metadata.GetFields()[ext.Cursor].GetStringValue())
	if !ok {
		return Place{}
	}
	return p
}

// ErrKnown says that a notification is no news: it came before, or is older than what did.
var ErrKnown = errors.New("it is known already")

// maxState bounds what is kept of a task that notifications tell of, bytes.
const maxState = 8 << 20

// Tell keeps what a verified notification of a call says of the partner's task: a task is
// the state itself, and an update makes it of the state before, where nothing is missing in
// between. The call is to be woken whatever came of it, unless the error is ErrKnown, which
// has written nothing.
func (s *Store) Tell(secret string, at Place, ev *a2apb.StreamResponse) func(context.Context, *sql.Tx) error {
	hook, now := digest(secret), s.clock.Now().UnixNano()
	return func(ctx context.Context, tx *sql.Tx) error {
		var before Place
		var body []byte
		err := tx.QueryRowContext(ctx, `SELECT epoch, version, body FROM partner_states WHERE hook = $1`, hook).Scan(&before.Epoch, &before.Version, &body)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if !at.After(before) {
			return ErrKnown
		}
		state := &a2apb.Task{}
		if err := proto.Unmarshal(body, state); err != nil {
			return fmt.Errorf("the state that was notified: %w", err)
		}
		next := before.Epoch == at.Epoch && before.Version+1 == at.Version
		if state = follow(state, ev, next && len(body) > 0); state == nil {
			return nil // something is missing: the partner is asked
		}
		if body, err = proto.Marshal(state); err != nil || len(body) > maxState {
			return err
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO partner_states (hook, epoch, version, body, updated_at) VALUES ($1, $2, $3, $4, $5)
			ON CONFLICT (hook) DO UPDATE SET epoch = excluded.epoch, version = excluded.version, body = excluded.body, updated_at = excluded.updated_at
			WHERE partner_states.epoch < excluded.epoch OR partner_states.epoch = excluded.epoch AND partner_states.version < excluded.version`,
			hook, at.Epoch, at.Version, body, now)
		return err
	}
}

// follow is a task after an event, or nil where that cannot be known. next says that the
// event is the one that follows the task's.
func follow(t *a2apb.Task, ev *a2apb.StreamResponse, next bool) *a2apb.Task {
	switch p := ev.GetPayload().(type) {
	case *a2apb.StreamResponse_Task:
		return p.Task
	case *a2apb.StreamResponse_StatusUpdate:
		if next {
			t.Status = p.StatusUpdate.GetStatus()
			return t
		}
	case *a2apb.StreamResponse_ArtifactUpdate:
		if next {
			t.Artifacts = placed(t.GetArtifacts(), p.ArtifactUpdate)
			return t
		}
	}
	return nil
}

// placed are artifacts with a further one, or with more of one.
func placed(all []*a2apb.Artifact, u *a2apb.TaskArtifactUpdateEvent) []*a2apb.Artifact {
	for i, a := range all {
		switch {
		case a.GetArtifactId() != u.GetArtifact().GetArtifactId():
		case u.GetAppend():
			a.Parts = append(a.Parts, u.GetArtifact().GetParts()...)
			return all
		default:
			all[i] = u.GetArtifact()
			return all
		}
	}
	return append(all, u.GetArtifact())
}

// Told gives the state of the partner's task that verified notifications tell of, with its
// place; nil where none has.
func (s *Store) Told(ctx context.Context, secret string) (*a2apb.Task, Place, error) {
	var at Place
	var body []byte
	err := s.db.Read.QueryRowContext(ctx, `SELECT epoch, version, body FROM partner_states WHERE hook = $1`, digest(secret)).Scan(&at.Epoch, &at.Version, &body)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, at, nil
	}
	if err != nil {
		return nil, at, err
	}
	t := &a2apb.Task{}
	return t, at, proto.Unmarshal(body, t)
}
