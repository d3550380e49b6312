package gateway_test

import (
	"crypto/ed25519"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/go-jose/go-jose/v4"

	"sabha.dev/chassis/identity"
	"sabha.dev/chassis/push"
	adminv1 "sabha.dev/gen/sabha/admin/v1"
)

func TestTheKeysOfAllServicesArePublished(t *testing.T) {
	r := start(t)
	resp, err := http.Get("http://" + r.HTTPAddr() + push.KeysPath)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	var set jose.JSONWebKeySet
	if err := json.Unmarshal(text, &set); err != nil || len(set.Keys) != len(r.keys) {
		t.Fatalf("%d keys in %s, %v", len(set.Keys), text, err)
	}
	for name, private := range r.keys {
		public := private.Public().(ed25519.PublicKey)
		found := set.Key(identity.KeyID(public))
		if len(found) != 1 || !found[0].IsPublic() || !public.Equal(found[0].Key) || found[0].Use != "sig" {
			t.Errorf("the key of %s: %v", name, found)
		}
	}
	for header, want := range map[string]string{"Content-Type": "application/jwk-set+json", "Cache-Control": "public, max-age=300"} {
		if got := resp.Header.Get(header); got != want {
			t.Errorf("%s %q, want %q", header, got, want)
		}
	}
	again, err := http.NewRequest(http.MethodGet, resp.Request.URL.String(), nil)
	if err != nil {
		t.Fatal(err)
	}
	again.Header.Set("If-None-Match", resp.Header.Get("ETag"))
	if resp, err = http.DefaultClient.Do(again); err != nil || resp.StatusCode != http.StatusNotModified {
		t.Errorf("asked again: %v, %v; want 304", resp, err)
	}
}

// hook sends a task with a webhook to a tenant and gives the task's id.
func (r *rig) hook(t *testing.T, tenant, url, key string) string {
	t.Helper()
	q := request{tenant: tenant, skill: "work", headers: []string{"X-API-Key: " + key}}
	m := q.message()
	m.Tenant = tenant
	m.Configuration = &a2apb.SendMessageConfiguration{TaskPushNotificationConfig: &a2apb.TaskPushNotificationConfig{
		Id: "hook", Url: url, Token: "my-token", Authentication: &a2apb.AuthenticationInfo{Scheme: "Bearer", Credentials: "my-credentials"},
	}}
	res, err := a2apb.NewA2AServiceClient(r.conn).SendMessage(q.context(t.Context()), m)
	if err != nil {
		t.Fatal(err)
	}
	return res.GetTask().GetId()
}

func TestOperatorsListAndResendWhatWasGivenUp(t *testing.T) {
	r := start(t)
	var mended atomic.Bool
	arrived := make(chan string, 16)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if !mended.Load() {
			w.WriteHeader(http.StatusGone)
			return
		}
		body, _ := io.ReadAll(q.Body)
		arrived <- string(body)
	}))
	defer receiver.Close()
	asha := r.newKey(t, "-subject", "asha")
	front := r.hook(t, "", receiver.URL+"/front?key=in-the-query", asha)
	other := r.hook(t, "research", receiver.URL+"/research", asha)

	admin := adminv1.NewAdminServiceClient(r.conn)
	auditor := request{headers: []string{"X-API-Key: " + r.newKey(t, "-subject", "alma", "-scopes", "auditor")}}
	operator := request{headers: []string{"X-API-Key: " + r.operator}}
	list := func(service string) []string {
		t.Helper()
		res, err := admin.ListDeadPushes(auditor.context(t.Context()), &adminv1.ListDeadPushesRequest{Service: service})
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(res.String(), "my-") || strings.Contains(res.String(), "in-the-query") {
			t.Errorf("a secret is shown: %v", res)
		}
		var got []string
		for _, p := range res.GetPushes() {
			got = append(got, strings.Join([]string{p.GetService(), p.GetTaskId(), p.GetConfigId(), strings.TrimPrefix(p.GetUrl(), receiver.URL), p.GetReason()}, " "))
		}
		slices.Sort(got)
		return got
	}
	const reason = "HTTP 410: the receiver wants no more notifications"
	want := []string{"planner " + front + " hook /front " + reason, "research " + other + " hook /research " + reason}
	for limit := time.Now().Add(30 * time.Second); !slices.Equal(list(""), want); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("listed %v, want %v", list(""), want)
		}
	}
	if got := list("research"); !slices.Equal(got, want[1:]) {
		t.Errorf("listed of research %v", got)
	}
	_, err := admin.ListDeadPushes(auditor.context(t.Context()), &adminv1.ListDeadPushesRequest{Service: "gateway"})
	if got := grpcError(err); got.reason != "INVALID_ARGUMENT" || !strings.Contains(got.said, "planner, research") {
		t.Errorf("of a service that has none: %+v", got)
	}

	mended.Store(true)
	again := &adminv1.ResendPushRequest{Service: "research", TaskId: other, ConfigId: "hook"}
	if _, err := admin.ResendPush(auditor.context(t.Context()), again); grpcError(err).reason != "PERMISSION_DENIED" {
		t.Errorf("an auditor sent again: %v", err)
	}
	if _, err := admin.ResendPush(operator.context(t.Context()), again); err != nil {
		t.Fatal(err)
	}
	select {
	case body := <-arrived:
		if !strings.Contains(body, other) || !strings.Contains(body, "TASK_STATE_COMPLETED") {
			t.Errorf("the receiver got %s", body)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("nothing was sent again")
	}
	if got := list(""); !slices.Equal(got, want[:1]) {
		t.Errorf("listed afterwards %v", got)
	}
	if _, err := admin.ResendPush(operator.context(t.Context()), again); grpcError(err).reason != "TASK_NOT_FOUND" {
		t.Errorf("sent again what was not given up: %v", err)
	}
	if logged := r.logs.String(); strings.Contains(logged, "my-") || strings.Contains(logged, "in-the-query") || !strings.Contains(logged, "method=ResendPush") {
		t.Errorf("the log:\n%s", logged)
	}
}
