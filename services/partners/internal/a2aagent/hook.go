package a2aagent

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"

	"sabha.dev/chassis/taskstore"
)

// HookPath is the path of [Receiver]; the secret of a call follows.
const HookPath = "/v1/partners/push/"

// maxNotification is what is read of a notification so that its connection can be kept.
const maxNotification = 64 << 10

// Receiver takes the notifications of partners about their tasks. Who knows the secret of
// a call may say that something has happened, and no more: nothing in a notification is
// believed. The task asks the partner, over the line that has credentials, how things are.
type Receiver struct {
	// Hooked gives the task that a secret wakes, or "".
	Hooked func(ctx context.Context, secret string) (task string, err error)
	// Resume wakes a task, wherever it runs or rests.
	Resume func(ctx context.Context, task string) error
	Log    *slog.Logger
}

// ServeHTTP answers 204 where a task was woken, or had ended; 404 where the secret is none.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	_, _ = io.Copy(io.Discard, io.LimitReader(req.Body, maxNotification))
	if req.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "send notifications with POST", http.StatusMethodNotAllowed)
		return
	}
	secret := strings.TrimPrefix(req.URL.Path, HookPath)
	task, err := "", error(nil)
	if len(secret) >= 32 && len(secret) <= 128 {
		task, err = r.Hooked(req.Context(), secret)
	}
	if err == nil && task == "" {
		http.Error(w, "nothing is waited for here", http.StatusNotFound)
		return
	}
	if err == nil {
		err = r.Resume(req.Context(), task)
	}
	if err != nil && !errors.Is(err, taskstore.ErrEnded) && !errors.Is(err, taskstore.ErrCanceling) && !errors.Is(err, taskstore.ErrNotFound) {
		r.Log.WarnContext(req.Context(), "a partner's notification could not be taken", "error", err)
		http.Error(w, "try again", http.StatusServiceUnavailable)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}
