package notice

import (
	"cmp"
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/encoding/protojson"

	"sabha.dev/chassis/cardsig"
	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/push"
	"sabha.dev/chassis/taskstore"
	partnersv1 "sabha.dev/gen/sabha/partners/v1"
	"sabha.dev/services/partners/internal/call"
	"sabha.dev/services/partners/internal/cardtrust"
	"sabha.dev/services/partners/internal/partner"
	"sabha.dev/services/partners/internal/remote"
)

// What a notification came to, as it is counted.
const (
	believed  = "verified"
	hint      = "hint"
	known     = "known"
	unknown   = "unknown"   // no call has the secret, or not with this token
	malformed = "malformed" // it has not the form of a notification
	foreign   = "foreign"   // about another task
	unsigned  = "unsigned"
	forged    = "forged" // the signature is not good
	failed    = "failed" // ours
)

// Bounds of a secret, bytes.
const minSecret, maxSecret = 32, 128

// TakeNotification takes one notification. Whoever does not know both the secret and the
// token of a call learns nothing, not even which of them was wrong.
func (r *Receiver) TakeNotification(ctx context.Context, q *partnersv1.TakeNotificationRequest) (*partnersv1.TakeNotificationResponse, error) {
	c, err := r.called(ctx, q)
	if err != nil {
		return nil, r.count("", failed, err)
	}
	if c == nil {
		return nil, r.count("", unknown, fault.New(fault.TaskNotFound, "nothing is waited for here, or not with this token"))
	}
	ev, about, err := read(q.GetBody())
	if err != nil {
		return nil, r.count(c.To.Partner, malformed, err)
	}
	if !about.fits(c) {
		return nil, r.count(c.To.Partner, foreign, fault.Invalid("body", "is about another task or context than the one that is waited for"))
	}
	claims, outcome, err := r.verified(ctx, c, q)
	if err != nil {
		return nil, r.count(c.To.Partner, outcome, err)
	}
	rows, err := r.state(c, ev, claims)
	if fault.Is(err, fault.Unavailable) {
		return nil, r.count(c.To.Partner, failed, err)
	}
	if err != nil {
		return nil, r.count(c.To.Partner, foreign, err)
	}
	effect := partnersv1.Effect_EFFECT_HINT
	outcome = hint
	if rows != nil {
		effect, outcome = partnersv1.Effect_EFFECT_VERIFIED, believed
	}
	switch err := r.Resume(ctx, c.Task, rows); {
	case err == nil:
	case errors.Is(err, call.ErrKnown), errors.Is(err, taskstore.ErrEnded), errors.Is(err, taskstore.ErrCanceling), errors.Is(err, taskstore.ErrNotFound):
		effect, outcome = partnersv1.Effect_EFFECT_KNOWN, known
	default:
		return nil, r.count(c.To.Partner, failed, fault.New(fault.Unavailable, "the notification cannot be taken at the moment; send it again").Because(err))
	}
	return &partnersv1.TakeNotificationResponse{Effect: effect}, r.count(c.To.Partner, outcome, nil)
}

func (r *Receiver) count(partner, outcome string, err error) error {
	r.Counts.taken.WithLabelValues(partner, outcome).Inc()
	return err
}

// called finds the call that a notification has the secret and the token of, or nil.
func (r *Receiver) called(ctx context.Context, q *partnersv1.TakeNotificationRequest) (*call.Call, error) {
	if n := len(q.GetSecret()); n < minSecret || n > maxSecret {
		return nil, nil
	}
	c, err := r.Calls.Hooked(ctx, q.GetSecret())
	if err != nil || c == nil || subtle.ConstantTimeCompare([]byte(cmp.Or(c.Token, c.Hook)), []byte(q.GetToken())) != 1 {
		return nil, err
	}
	return c, nil
}

// subject is which task a notification is about, as far as it says so.
type subject struct{ task, context string }

func (s subject) fits(c *call.Call) bool {
	return (s.task == "" || c.RemoteTask == "" || s.task == c.RemoteTask) && (s.context == "" || c.RemoteContext == "" || s.context == c.RemoteContext)
}

var lenient = protojson.UnmarshalOptions{DiscardUnknown: true}

// read reads a notification: a StreamResponse of A2A 1.0, or something else, as 0.3 has it,
// of which only the ids count.
func read(body []byte) (*a2apb.StreamResponse, subject, error) {
	ev := &a2apb.StreamResponse{}
	if err := lenient.Unmarshal(body, ev); err == nil {
		switch p := ev.GetPayload().(type) {
		case *a2apb.StreamResponse_Task:
			return ev, subject{p.Task.GetId(), p.Task.GetContextId()}, nil
		case *a2apb.StreamResponse_StatusUpdate:
			return ev, subject{p.StatusUpdate.GetTaskId(), p.StatusUpdate.GetContextId()}, nil
		case *a2apb.StreamResponse_ArtifactUpdate:
			return ev, subject{p.ArtifactUpdate.GetTaskId(), p.ArtifactUpdate.GetContextId()}, nil
		case *a2apb.StreamResponse_Message:
			return nil, subject{p.Message.GetTaskId(), p.Message.GetContextId()}, nil
		}
	}
	var older struct {
		Kind, ID, TaskID, ContextID string
	}
	if err := json.Unmarshal(body, &older); err != nil {
		return nil, subject{}, fault.Invalid("body", "is not the JSON object of a notification; send a StreamResponse of A2A")
	}
	s := subject{older.TaskID, older.ContextID}
	if older.Kind == "task" {
		s.task = older.ID
	}
	return nil, s, nil
}

// verified gives the claims of a signature that is good; nil where there is none, or it is
// not looked at.
func (r *Receiver) verified(ctx context.Context, c *call.Call, q *partnersv1.TakeNotificationRequest) (*push.Claims, string, error) {
	p, err := r.Directory.Partner(ctx, c.To.Partner)
	if err != nil {
		return nil, failed, err
	}
	policy := r.Keys.Notified(p)
	switch {
	case policy.Push == cardtrust.Off:
		return nil, hint, nil
	case q.GetSignature() == "" && policy.Push == cardtrust.Required:
		return nil, unsigned, fault.New(fault.PermissionDenied, "the notification has no %s, and the agreement asks for one", push.SignatureHeader)
	case q.GetSignature() == "":
		return nil, hint, nil
	}
	claims, err := r.verifier(p, policy).Verify(ctx, q.GetSignature(), r.Hooks+q.GetSecret(), q.GetBody())
	switch {
	case errors.Is(err, cardtrust.ErrUnreachable):
		return nil, failed, fault.New(fault.Unavailable, "the keys of the notification's signature cannot be fetched at the moment; send it again").Because(err)
	case err != nil:
		r.Log.WarnContext(ctx, "a notification is not believed", "partner", p.ID, "task_id", c.Task, "error", err)
		return nil, forged, fault.New(fault.PermissionDenied, "the signature of the notification is not believed: %v", err)
	}
	return claims, believed, nil
}

func (r *Receiver) verifier(p *partner.Partner, policy cardtrust.Policy) *push.Verifier {
	return &push.Verifier{Clock: r.Clock, Algorithms: policy.Algorithms, Keys: func(ctx context.Context, id, jku string) (cardsig.Key, error) {
		return r.Keys.NotifierKey(ctx, p, id, jku)
	}}
}

// state gives what has to be written for the state that a verified notification tells of;
// nil where it tells of none, and the partner is asked.
func (r *Receiver) state(c *call.Call, ev *a2apb.StreamResponse, claims *push.Claims) (taskstore.Rows, error) {
	if claims == nil || ev == nil {
		return nil, nil
	}
	if c.RemoteTask == "" { // it has overtaken the answer to our call
		e := fault.New(fault.Unavailable, "the answer to the call is not here yet; send it again")
		e.RetryAfter = time.Second
		return nil, e
	}
	at, ok := call.ParsePlace(claims.Event)
	if !ok {
		return nil, nil
	}
	if claims.Task != c.RemoteTask {
		return nil, fault.Invalid("body", "is signed for another task than the one that is waited for")
	}
	if err := remote.CheckEvent(ev, c.RemoteTask); err != nil {
		return nil, nil //nolint:nilerr // the partner is asked, and its answer counts as invalid
	}
	return r.Calls.Tell(c.Hook, at, ev), nil
}
