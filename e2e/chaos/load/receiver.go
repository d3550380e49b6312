package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/go-jose/go-jose/v4"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"
)

// Receiver takes the webhooks of all plans. Now and then it fails or is slow, as
// receivers are.
type Receiver struct {
	base   string
	keys   jose.JSONWebKeySet
	server *http.Server

	mu    sync.Mutex
	hooks map[int]*hook
}

// hook is what came for one plan.
type hook struct {
	posts, failed  int
	late           int // came after a newer one
	epoch, version int64
	state          a2apb.TaskState
	wrong          []string
}

// Faults of the receiver: every so many plans have the first deliveries of theirs
// refused, or are answered slowly.
const (
	refusedEvery = 7
	refusals     = 2
	slowEvery    = 11
	slowFor      = 300 * time.Millisecond
)

// Listen serves the receiver on the loopback interface. Deliveries are to be signed
// with one of the keys.
func Listen(keys jose.JSONWebKeySet) (*Receiver, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &Receiver{base: "http://" + l.Addr().String() + "/", keys: keys, hooks: map[int]*hook{}}
	r.server = &http.Server{Handler: http.HandlerFunc(r.take), ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = r.server.Serve(l) }()
	return r, nil
}

// Close ends the receiver.
func (r *Receiver) Close() { _ = r.server.Close() }

// config of the webhook of a plan.
func (r *Receiver) config(plan int) *a2apb.TaskPushNotificationConfig {
	return &a2apb.TaskPushNotificationConfig{
		Url: r.base + strconv.Itoa(plan), Token: token(plan),
		Authentication: &a2apb.AuthenticationInfo{Scheme: "Bearer", Credentials: credentials(plan)},
	}
}

func token(plan int) string { return fmt.Sprintf("token-%d", plan) }

func credentials(plan int) string { return fmt.Sprintf("credentials-%d", plan) }

func (r *Receiver) take(w http.ResponseWriter, req *http.Request) {
	plan, err := strconv.Atoi(strings.TrimPrefix(req.URL.Path, "/"))
	if err != nil {
		http.NotFound(w, req)
		return
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return // it was cut, and comes again
	}
	if plan%slowEvery == 0 {
		time.Sleep(slowFor)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	h := r.hooks[plan]
	if h == nil {
		h = &hook{}
		r.hooks[plan] = h
	}
	if plan%refusedEvery == 0 && h.failed < refusals {
		h.failed++
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	h.posts++
	if req.Header.Get("Authorization") != "Bearer "+credentials(plan) || req.Header.Get("X-A2A-Notification-Token") != token(plan) {
		h.wrong = append(h.wrong, fmt.Sprintf("webhook of plan %d: without its credentials or token", plan))
	}
	if err := signed(r.keys, r.config(plan).GetUrl(), req.Header.Get("Sabha-Signature"), body); err != nil {
		h.wrong = append(h.wrong, fmt.Sprintf("webhook of plan %d: its signature: %v", plan, err))
	}
	if err := h.see(body); err != nil {
		h.wrong = append(h.wrong, fmt.Sprintf("webhook of plan %d: %v", plan, err))
	}
}

// see takes one delivery: an event or a snapshot, at least once. The newest counts,
// as receivers are told: a replica that was stalled in the middle of a delivery
// makes it when it goes on.
func (h *hook) see(body []byte) error {
	ev := &a2apb.StreamResponse{}
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(body, ev); err != nil {
		return err
	}
	md, state := metadataOf(ev), h.state
	switch {
	case ev.GetTask() != nil:
		state = ev.GetTask().GetStatus().GetState()
	case ev.GetStatusUpdate() != nil:
		state = ev.GetStatusUpdate().GetStatus().GetState()
	}
	var epoch, version int64
	if _, err := fmt.Sscanf(cursorOf(md), "%d.%d", &epoch, &version); err != nil {
		return errors.New("an event without a cursor")
	}
	if epoch < h.epoch || epoch == h.epoch && version < h.version {
		h.late++
		return nil
	}
	h.epoch, h.version, h.state = epoch, version, state
	return nil
}

func metadataOf(ev *a2apb.StreamResponse) *structpb.Struct {
	switch {
	case ev.GetTask() != nil:
		return ev.GetTask().GetMetadata()
	case ev.GetArtifactUpdate() != nil:
		return ev.GetArtifactUpdate().GetMetadata()
	}
	return ev.GetStatusUpdate().GetMetadata()
}

// Await returns when the final event of every plan has come, or patience is over.
func (r *Receiver) Await(ctx context.Context, plans []*Plan, patience time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for r.account(plans).Missing > 0 {
		select {
		case <-ctx.Done():
			return
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// account counts what came for the plans that ended.
func (r *Receiver) account(plans []*Plan) Webhooks {
	r.mu.Lock()
	defer r.mu.Unlock()
	a := Webhooks{}
	for _, p := range plans {
		h := r.hooks[p.N]
		if h != nil {
			a.Deliveries, a.Late = a.Deliveries+h.posts, a.Late+h.late
			a.Wrong = append(a.Wrong, h.wrong...)
		}
		if terminal(p.Read) && (h == nil || h.state != p.Read) {
			a.Missing++
		}
	}
	return a
}
