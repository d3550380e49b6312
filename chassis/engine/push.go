package engine

import (
	"context"
	"encoding/base64"
	"errors"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/chassis/ext"
	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/identity"
	"sabha.dev/chassis/taskstore"
)

// maxPushes bounds the push configurations of a task.
const maxPushes = 20

// errNoPush answers every push operation where the card does not declare push
// notifications (specification 3.3.4).
var errNoPush = fault.New(fault.PushNotSupported, "the agent sends no push notifications; stream or poll the task")

// pushOn gives the caller's task that a push operation is about.
func (e *Engine) pushOn(ctx context.Context, taskID string) (*taskstore.Record, error) {
	call, err := e.call(ctx)
	if err != nil {
		return nil, err
	}
	return e.pushOf(ctx, call, taskID)
}

func (e *Engine) pushOf(ctx context.Context, call identity.Call, taskID string) (*taskstore.Record, error) {
	if e.push == nil {
		return nil, errNoPush
	}
	if taskID == "" {
		return nil, fault.Invalid("taskId", "is missing; name the task")
	}
	return e.owned(ctx, call, taskID)
}

// CreateTaskPushNotificationConfig stores a webhook for a task (specification
// 3.1.7). What is committed from now on is sent to it; where the task has ended,
// its end. A configuration of the same id is replaced.
func (e *Engine) CreateTaskPushNotificationConfig(ctx context.Context, req *a2apb.TaskPushNotificationConfig) (*a2apb.TaskPushNotificationConfig, error) {
	rec, err := e.pushOn(ctx, req.GetTaskId())
	if err != nil {
		return nil, err
	}
	cfg, err := e.checkPush("", req)
	if err != nil {
		return nil, err
	}
	cfg.TaskId = rec.Task.GetId()
	if err := e.checkPushRoom(ctx, cfg); err != nil {
		return nil, err
	}
	ended := false
	_, err = e.Store.Update(ctx, cfg.GetTaskId(), func(rec *taskstore.Record) (taskstore.Change, error) {
		version := rec.Version
		if ended = rec.Ended(); ended {
			version--
		}
		rec.Push = true
		rows, err := e.Store.PutPush(cfg, version, ended)
		return taskstore.Change{Rows: rows}, err
	})
	if errors.Is(err, taskstore.ErrNotFound) {
		return nil, fault.NoTask(cfg.GetTaskId())
	}
	if err != nil {
		return nil, err
	}
	if ended {
		e.push.Kick()
	}
	return cfg, nil
}

// checkPush refuses a configuration that cannot be used and gives a copy with an
// id. prefix is where it stands in the request.
func (e *Engine) checkPush(prefix string, req *a2apb.TaskPushNotificationConfig) (*a2apb.TaskPushNotificationConfig, error) {
	if err := e.push.Guard.CheckURL(req.GetUrl()); err != nil {
		return nil, fault.Invalid(prefix+"url", "%s", err)
	}
	a := req.GetAuthentication()
	switch {
	case !isName(req.GetId()):
		return nil, fault.Invalid(prefix+"id", "must have at most 128 characters, of letters, digits and . _ ~ -")
	case !isHeader(req.GetToken()):
		return nil, fault.Invalid(prefix+"token", "must have at most 4096 visible ASCII characters")
	case a != nil && a.GetScheme() == "":
		return nil, fault.Invalid(prefix+"authentication.scheme", "is missing; name one such as Bearer")
	case !isName(a.GetScheme()):
		return nil, fault.Invalid(prefix+"authentication.scheme", "is no name of an HTTP authentication scheme")
	case !isHeader(a.GetCredentials()):
		return nil, fault.Invalid(prefix+"authentication.credentials", "must have at most 4096 visible ASCII characters")
	}
	cfg := proto.CloneOf(req)
	if cfg.GetId() == "" {
		cfg.Id = newID()
	}
	cfg.Tenant = ""
	return cfg, nil
}

// isName accepts what can stand in a path and in a header; empty too.
func isName(s string) bool {
	return len(s) <= 128 && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("._~-", r)
	})
}

// isHeader accepts what can be the value of a header; empty too.
func isHeader(s string) bool {
	return len(s) <= 4096 && strings.TrimSpace(s) == s && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' })
}

func (e *Engine) checkPushRoom(ctx context.Context, cfg *a2apb.TaskPushNotificationConfig) error {
	list, err := e.Store.Pushes(ctx, cfg.GetTaskId(), "", maxPushes)
	if err != nil || len(list) < maxPushes {
		return err
	}
	for _, p := range list {
		if p.ID == cfg.GetId() {
			return nil
		}
	}
	return fault.New(fault.TooLarge, "the task has %d push configurations already; delete one first", maxPushes)
}

// pushWith checks the configuration that comes with a message; nil when none does.
func (e *Engine) pushWith(req *a2apb.SendMessageRequest) (*a2apb.TaskPushNotificationConfig, error) {
	cfg := req.GetConfiguration().GetTaskPushNotificationConfig()
	if cfg == nil {
		return nil, nil
	}
	if e.push == nil {
		return nil, errNoPush
	}
	return e.checkPush("configuration.taskPushNotificationConfig.", cfg)
}

// GetTaskPushNotificationConfig reads a configuration of the caller's task
// (specification 3.1.8).
func (e *Engine) GetTaskPushNotificationConfig(ctx context.Context, req *a2apb.GetTaskPushNotificationConfigRequest) (*a2apb.TaskPushNotificationConfig, error) {
	if _, err := e.pushOn(ctx, req.GetTaskId()); err != nil {
		return nil, err
	}
	p, err := e.Store.Push(ctx, taskstore.PushKey{TaskID: req.GetTaskId(), ID: req.GetId()})
	if errors.Is(err, taskstore.ErrNoPush) {
		return nil, fault.New(fault.TaskNotFound, "task %q has no push configuration %q", req.GetTaskId(), req.GetId()).With("taskId", req.GetTaskId())
	}
	if err != nil {
		return nil, err
	}
	return p.Config, nil
}

// ListTaskPushNotificationConfigs lists the configurations of the caller's task by
// id (specification 3.1.9).
func (e *Engine) ListTaskPushNotificationConfigs(ctx context.Context, req *a2apb.ListTaskPushNotificationConfigsRequest) (*a2apb.ListTaskPushNotificationConfigsResponse, error) {
	if _, err := e.pushOn(ctx, req.GetTaskId()); err != nil {
		return nil, err
	}
	size := int(req.GetPageSize())
	if size == 0 {
		size = defaultPage
	}
	if size < 1 || size > maxPage {
		return nil, fault.Invalid("pageSize", "must be from 1 to %d", maxPage)
	}
	after, err := base64.RawURLEncoding.DecodeString(req.GetPageToken())
	if err != nil || !isName(string(after)) {
		return nil, fault.Invalid("pageToken", "is not a token of this list; begin without one")
	}
	list, err := e.Store.Pushes(ctx, req.GetTaskId(), string(after), size+1)
	if err != nil {
		return nil, err
	}
	res := &a2apb.ListTaskPushNotificationConfigsResponse{}
	if len(list) > size {
		list = list[:size]
		res.NextPageToken = base64.RawURLEncoding.EncodeToString([]byte(list[size-1].ID))
	}
	for _, p := range list {
		res.Configs = append(res.Configs, p.Config)
	}
	return res, nil
}

// DeleteTaskPushNotificationConfig removes a configuration of the caller's task;
// one that is not there is none (specification 3.1.10).
func (e *Engine) DeleteTaskPushNotificationConfig(ctx context.Context, req *a2apb.DeleteTaskPushNotificationConfigRequest) (*emptypb.Empty, error) {
	if _, err := e.pushOn(ctx, req.GetTaskId()); err != nil {
		return nil, err
	}
	return &emptypb.Empty{}, e.Store.DeletePush(ctx, taskstore.PushKey{TaskID: req.GetTaskId(), ID: req.GetId()})
}

// ResendPush enables a disabled configuration again and sends what is due. The
// error is TASK_NOT_FOUND when there is none that is disabled.
func (e *Engine) ResendPush(ctx context.Context, k taskstore.PushKey) error {
	err := e.Store.ResendPush(ctx, k)
	if errors.Is(err, taskstore.ErrNoPush) {
		return fault.New(fault.TaskNotFound, "task %q has no push configuration %q that is disabled", k.TaskID, k.ID)
	}
	if err == nil && e.push != nil {
		e.push.Kick()
	}
	return err
}

// pushHealth shows on a task how its notifications fare: an object by
// configuration id.
func (e *Engine) pushHealth(ctx context.Context, rec *taskstore.Record) error {
	if !rec.Push {
		return nil
	}
	list, err := e.Store.Pushes(ctx, rec.Task.GetId(), "", maxPushes)
	if err != nil || len(list) == 0 {
		return err
	}
	all := &structpb.Struct{Fields: map[string]*structpb.Value{}}
	for _, p := range list {
		all.Fields[p.ID] = structpb.NewStructValue(health(p, e.Store.Epoch()))
	}
	rec.SetMetadata(map[string]*structpb.Value{ext.Push: structpb.NewStructValue(all)})
	return nil
}

func health(p *taskstore.Push, epoch int64) *structpb.Struct {
	state := "active"
	fields := map[string]*structpb.Value{
		"delivered": structpb.NewStringValue(formatCursor(epoch, p.Version)),
	}
	at := func(name string, t time.Time) { fields[name] = structpb.NewStringValue(t.Format(time.RFC3339)) }
	switch {
	case p.Disabled():
		state = "disabled"
		at("disabledAt", p.DisabledAt)
	case p.Failures > 0:
		state = "retrying"
		if !p.DueAt.IsZero() {
			at("nextAttempt", p.DueAt)
		}
	}
	fields["state"] = structpb.NewStringValue(state)
	if p.Failures > 0 {
		fields["failures"] = structpb.NewNumberValue(float64(p.Failures))
		fields["reason"] = structpb.NewStringValue(p.Reason)
	}
	return &structpb.Struct{Fields: fields}
}
