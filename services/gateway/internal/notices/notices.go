// Package notices is where the push notifications of partners come in. It bounds them in
// size and number, and passes them on to who knows which task is meant.
package notices

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"

	"google.golang.org/grpc"

	"sabha.dev/chassis/binding"
	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/identity"
	"sabha.dev/chassis/push"
	partnersv1 "sabha.dev/gen/sabha/partners/v1"
)

// Path that is served; the secret of a call follows.
const Path = push.ReceiverPath

// Guard bounds how often somebody may notify.
type Guard interface {
	// Notifies counts a notification of an address; the error is a fault.
	Notifies(address string) error
	// Guesses counts one that nobody waits for.
	Guesses(address string) error
}

// Handler takes notifications.
type Handler struct {
	Guard Guard
	// Partners is the service that has the tasks.
	Partners grpc.ClientConnInterface
	// MaxBody of a notification, bytes.
	MaxBody int64
	Log     *slog.Logger
}

// maxHeader bounds the token and the signature, bytes.
const maxHeader = 8 << 10

// ServeHTTP answers 204 where the notification was taken, and 200 where it was known.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	if r.Method != http.MethodPost {
		binding.RefuseMethod(w, r, http.MethodPost)
		return
	}
	effect, err := h.take(w, r)
	switch {
	case err != nil:
		refuse(w, fault.Mapped(r.Context(), h.Log, Path, err))
	case effect == partnersv1.Effect_EFFECT_KNOWN:
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"message":"this was known already; nothing was done"}`)
	default:
		w.WriteHeader(http.StatusNoContent)
	}
}

func (h *Handler) take(w http.ResponseWriter, r *http.Request) (partnersv1.Effect, error) {
	if err := h.Guard.Notifies(r.RemoteAddr); err != nil {
		return 0, err
	}
	q := &partnersv1.TakeNotificationRequest{
		Secret: strings.TrimPrefix(r.URL.Path, Path), Token: r.Header.Get(push.TokenHeader), Signature: r.Header.Get(push.SignatureHeader),
	}
	if len(q.GetSecret()) > maxHeader || len(q.GetToken()) > maxHeader || len(q.GetSignature()) > maxHeader {
		return 0, fault.Invalid("header", "the token and the signature may have %d bytes", maxHeader)
	}
	var err error
	var large *http.MaxBytesError
	switch q.Body, err = io.ReadAll(http.MaxBytesReader(w, r.Body, h.MaxBody)); {
	case errors.As(err, &large):
		return 0, fault.New(fault.TooLarge, "the notification is larger than %d MiB; the task is asked for instead", h.MaxBody>>20)
	case err != nil:
		return 0, fault.Invalid("body", "could not be read to its end").Because(err)
	}
	ctx := identity.WithOutgoing(r.Context(), identity.Call{Actor: identity.Gateway})
	res, err := partnersv1.NewNotificationServiceClient(h.Partners).TakeNotification(ctx, q)
	if told := fault.FromStatus(err); told != nil && told.Reason == fault.TaskNotFound {
		if over := h.Guard.Guesses(r.RemoteAddr); over != nil {
			return 0, over
		}
	}
	return res.GetEffect(), away(r.Context(), err)
}

// away says of what is not there what the sender is to do.
func away(ctx context.Context, err error) error {
	if err != nil && ctx.Err() == nil && fault.FromStatus(err) == nil {
		return fault.New(fault.Unavailable, "the notification cannot be taken at the moment; send it again").Because(err)
	}
	return err
}

func refuse(w http.ResponseWriter, err error) {
	code, body := binding.Refusal(err)
	h := w.Header()
	if told := fault.FromStatus(err); told != nil && told.RetryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(max(1, int(told.RetryAfter.Seconds()+0.999))))
	}
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(code)
	_, _ = w.Write(body) // a sender that has gone needs no answer
}
