package service

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"sabha.dev/chassis/egress"
	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/outlet"
	"sabha.dev/chassis/push"
	"sabha.dev/chassis/taskstore"
	adminv1 "sabha.dev/gen/sabha/admin/v1"
)

// open makes what the engine needs to send to webhooks.
func (p Push) open(service string, key ed25519.PrivateKey, outlets *outlet.Outlets) (*push.Config, error) {
	guard, err := egress.New(p.Allow)
	if err != nil {
		return nil, fmt.Errorf("push.allow: %w", err)
	}
	c := &push.Config{Service: service, Key: key, Guard: guard, MaxFailures: p.MaxFailures}
	if !p.Disclosure.IsZero() { // the default of webhooks lets everything go: then nothing need be looked at
		c.Outlet, err = outlets.Open("webhooks", outlet.Webhook, p.Disclosure)
	}
	return c, err
}

// ListDeadPushes lists push configurations that were given up, of every caller.
func (a *admin) ListDeadPushes(ctx context.Context, req *adminv1.ListDeadPushesRequest) (*adminv1.ListDeadPushesResponse, error) {
	size := int(req.GetPageSize())
	if size == 0 {
		size = 50
	}
	if size < 1 || size > 100 {
		return nil, fault.Invalid("page_size", "must be from 1 to 100")
	}
	before, after, err := readDeadToken(req.GetPageToken())
	if err != nil {
		return nil, err
	}
	list, err := a.store.DeadPushes(ctx, before, after, size+1)
	if err != nil {
		return nil, err
	}
	res := &adminv1.ListDeadPushesResponse{}
	if len(list) > size {
		list = list[:size]
		res.NextPageToken = writeDeadToken(list[size-1])
	}
	for _, p := range list {
		res.Pushes = append(res.Pushes, &adminv1.DeadPush{
			Service: a.agent, TaskId: p.TaskID, ConfigId: p.ID, Url: shown(p.Config.GetUrl()), Reason: p.Reason, Failures: int32(p.Failures),
			DisabledAt: timestamppb.New(p.DisabledAt), Delivered: p.Version, Newest: p.Target,
		})
	}
	return res, nil
}

// shown is a webhook's URL without its query, where some keep a secret.
func shown(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	u.RawQuery, u.ForceQuery = "", false
	return u.String()
}

// ResendPush enables a push configuration again.
func (a *admin) ResendPush(ctx context.Context, req *adminv1.ResendPushRequest) (*adminv1.ResendPushResponse, error) {
	k := taskstore.PushKey{TaskID: req.GetTaskId(), ID: req.GetConfigId()}
	if k.TaskID == "" {
		return nil, fault.Invalid("task_id", "is missing; name the task")
	}
	if k.ID == "" {
		return nil, fault.Invalid("config_id", "is missing; name the push configuration")
	}
	return &adminv1.ResendPushResponse{}, a.engine.ResendPush(ctx, k)
}

func writeDeadToken(p *taskstore.Push) string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(p.DisabledAt.UnixNano(), 36) + " " + p.TaskID + " " + p.ID))
}

func readDeadToken(token string) (time.Time, taskstore.PushKey, error) {
	if token == "" {
		return time.Time{}, taskstore.PushKey{}, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(token)
	parts := strings.Split(string(raw), " ")
	if err != nil || len(parts) != 3 {
		return time.Time{}, taskstore.PushKey{}, errDeadToken
	}
	nanos, err := strconv.ParseInt(parts[0], 36, 64)
	if err != nil {
		return time.Time{}, taskstore.PushKey{}, errDeadToken
	}
	return time.Unix(0, nanos), taskstore.PushKey{TaskID: parts[1], ID: parts[2]}, nil
}

var errDeadToken = fault.Invalid("page_token", "is not a token of this list; begin without one")
