package conformance

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/go-jose/go-jose/v4"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"sabha.dev/chassis/ext"
	"sabha.dev/chassis/push"
)

// badPushes are configurations that are refused, by the field that is wrong.
var badPushes = map[string][]*a2apb.TaskPushNotificationConfig{
	"url": {
		{},
		{Url: "nowhere"},
		{Url: "ftp://example.com/"},
		{Url: "file:///etc/passwd"},
		{Url: "https://user:secret@example.com/"},
		{Url: "https://example.com:22/"},
		{Url: "http://10.0.0.1/"},
		{Url: "http://169.254.169.254/latest"},
		{Url: "http://[::1]/"},
		{Url: "http://[::ffff:10.0.0.1]/"},
		{Url: "http://2130706433/"},
		{Url: "http://0x7f.1/"},
		{Url: "http://0177.0.0.1/"},
	},
	"id":    {{Url: "https://example.com/", Id: "a/b"}},
	"token": {{Url: "https://example.com/", Token: "two\r\nlines"}},
	"authentication.scheme": {
		{Url: "https://example.com/", Authentication: &a2apb.AuthenticationInfo{Credentials: "c"}},
		{Url: "https://example.com/", Authentication: &a2apb.AuthenticationInfo{Scheme: "Be arer", Credentials: "c"}},
	},
	"authentication.credentials": {{Url: "https://example.com/", Authentication: &a2apb.AuthenticationInfo{Scheme: "Bearer", Credentials: "c\nX: y"}}},
}

func ofTask(c *a2apb.TaskPushNotificationConfig, id string) *a2apb.TaskPushNotificationConfig {
	c = proto.CloneOf(c)
	c.TaskId = id
	return c
}

// withPush is a first message with a configuration.
func withPush(tenant, skill string, c *a2apb.TaskPushNotificationConfig) *a2apb.SendMessageRequest {
	req := sendTo(tenant, message(skill, "go"))
	req.Configuration = &a2apb.SendMessageConfiguration{TaskPushNotificationConfig: proto.CloneOf(c)}
	return req
}

// toTenant names a tenant in a request.
func toTenant(tenant string, req proto.Message) proto.Message {
	req = proto.Clone(req)
	m := req.ProtoReflect()
	m.Set(m.Descriptor().Fields().ByName("tenant"), protoreflect.ValueOfString(tenant))
	return req
}

// notification is a POST as a receiver sees it.
type notification struct {
	header http.Header
	body   []byte
	event  *a2apb.StreamResponse
	claims push.Claims
}

// receiver is a webhook that verifies what it gets.
type receiver struct {
	*httptest.Server
	keys jose.JSONWebKeySet
	mu   sync.Mutex
	got  []notification
}

func (s *system) receiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{}
	resp, err := http.Get(s.http + "/.well-known/jwks.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(bodyOf(t, resp), &r.keys); err != nil {
		t.Fatal(err)
	}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, err := io.ReadAll(q.Body)
		n := notification{header: q.Header, body: body, event: &a2apb.StreamResponse{}}
		if err == nil {
			err = protojson.Unmarshal(body, n.event)
		}
		if err != nil || q.Method != http.MethodPost {
			t.Errorf("%s %s: %v", q.Method, body, err)
		}
		n.claims = r.verify(t, q.Header.Get("Sabha-Signature"))
		r.mu.Lock()
		r.got = append(r.got, n)
		r.mu.Unlock()
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) verify(t testing.TB, compact string) push.Claims {
	var claims push.Claims
	jws, err := jose.ParseSignedCompact(compact, []jose.SignatureAlgorithm{jose.EdDSA})
	if err != nil {
		t.Errorf("signature %q: %v", compact, err)
		return claims
	}
	keys := r.keys.Key(jws.Signatures[0].Header.KeyID)
	if len(keys) != 1 {
		t.Errorf("%d keys have the id %q", len(keys), jws.Signatures[0].Header.KeyID)
		return claims
	}
	payload, err := jws.Verify(keys[0])
	if err == nil {
		err = json.Unmarshal(payload, &claims)
	}
	if err != nil {
		t.Error(err)
	}
	return claims
}

// until waits for notifications until one ends the task.
func (r *receiver) until(t *testing.T, id, state string) []notification {
	t.Helper()
	for limit := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		r.mu.Lock()
		var mine []notification
		for _, n := range r.got {
			if n.claims.Task == id {
				mine = append(mine, n)
			}
		}
		r.mu.Unlock()
		if len(mine) > 0 && stateOf(mine[len(mine)-1].event) == state {
			return mine
		}
		if time.Now().After(limit) {
			t.Fatalf("the receiver never heard of %s; it got %v", state, mine)
		}
	}
}

func stateOf(ev *a2apb.StreamResponse) string {
	if task := ev.GetTask(); task != nil {
		return task.GetStatus().GetState().String()
	}
	if u := ev.GetStatusUpdate(); u != nil {
		return u.GetStatus().GetState().String()
	}
	return "artifact"
}

func states(list []notification) []string {
	var out []string
	for _, n := range list {
		out = append(out, strings.TrimPrefix(stateOf(n.event), "TASK_STATE_"))
	}
	return out
}

func TestAConfigurationWithTheFirstMessageGetsEveryEvent(t *testing.T) {
	s := start(t)
	onAll(t, s, func(t *testing.T, b binding) {
		r := s.receiver(t)
		cfg := &a2apb.TaskPushNotificationConfig{
			Url: r.URL + "/hook?x=1", Token: "my-token", Authentication: &a2apb.AuthenticationInfo{Scheme: "Bearer", Credentials: "my-secret"},
		}
		res := &a2apb.SendMessageResponse{}
		if f := b.unary(t, call{method: "SendMessage", request: withPush("", "complete", cfg), as: "alice"}, res); f != nil {
			t.Fatal(f)
		}
		id := res.GetTask().GetId()
		got := r.until(t, id, "TASK_STATE_COMPLETED")
		if want := []string{"SUBMITTED", "WORKING", "artifact", "COMPLETED"}; !slices.Equal(states(got), want) {
			t.Errorf("notified of %v, want %v", states(got), want)
		}
		list := &a2apb.ListTaskPushNotificationConfigsResponse{}
		if f := b.unary(t, call{method: "ListTaskPushNotificationConfigs", request: &a2apb.ListTaskPushNotificationConfigsRequest{TaskId: id}, as: "alice"}, list); f != nil {
			t.Fatal(f)
		}
		if len(list.GetConfigs()) != 1 {
			t.Fatalf("listed %v", list)
		}
		stored := list.GetConfigs()[0]
		for i, n := range got {
			for name, want := range map[string]string{
				"Content-Type": "application/a2a+json", "Authorization": "Bearer my-secret", "X-A2A-Notification-Token": "my-token", "A2A-Version": "1.0",
			} {
				if n.header.Get(name) != want {
					t.Errorf("notification %d: %s is %q, want %q", i, name, n.header.Get(name), want)
				}
			}
			if p := strings.Split(n.header.Get("Traceparent"), "-"); len(p) != 4 || len(p[1]) != 32 {
				t.Errorf("notification %d: traceparent %q", i, n.header.Get("Traceparent"))
			}
			place := placeOf(n.event)
			want := push.Claims{
				Issuer: "planner", Audience: cfg.GetUrl(), IssuedAt: n.claims.IssuedAt, Expiry: n.claims.IssuedAt + 300,
				ID: id + "/" + stored.GetId() + "/" + place, Task: id, Event: place, Digest: push.Digest(n.body),
			}
			if n.claims != want {
				t.Errorf("notification %d claims %+v, want %+v", i, n.claims, want)
			}
		}
		want := proto.CloneOf(cfg)
		want.Id, want.TaskId = stored.GetId(), id
		if stored.GetId() == "" || !proto.Equal(stored, want) {
			t.Errorf("the owner reads %v, want %v with an id", stored, want)
		}
	})
}

func TestConfigurationsAreMadeReadListedAndDeleted(t *testing.T) {
	s := start(t)
	onAll(t, s, func(t *testing.T, b binding) {
		for _, tenant := range []string{"", "plain"} {
			r := s.receiver(t)
			res := &a2apb.SendMessageResponse{}
			if f := b.unary(t, call{method: "SendMessage", request: sendTo(tenant, message("ask", "go")), as: "alice"}, res); f != nil {
				t.Fatal(f)
			}
			id := res.GetTask().GetId()
			do := func(method string, req, answer proto.Message) {
				t.Helper()
				if f := b.unary(t, call{method: method, request: toTenant(tenant, req), as: "alice"}, answer); f != nil {
					t.Fatalf("%s: %v", method, f)
				}
			}
			var ids []string
			for _, given := range []string{"", "mine", "other"} {
				made := &a2apb.TaskPushNotificationConfig{}
				do("CreateTaskPushNotificationConfig", &a2apb.TaskPushNotificationConfig{TaskId: id, Id: given, Url: r.URL + "/" + given}, made)
				if made.GetId() == "" || (given != "" && made.GetId() != given) || made.GetUrl() != r.URL+"/"+given {
					t.Errorf("made %v of id %q", made, given)
				}
				read := &a2apb.TaskPushNotificationConfig{}
				do("GetTaskPushNotificationConfig", &a2apb.GetTaskPushNotificationConfigRequest{TaskId: id, Id: made.GetId()}, read)
				if !proto.Equal(read, made) {
					t.Errorf("read %v, made %v", read, made)
				}
				ids = append(ids, made.GetId())
			}
			slices.Sort(ids)
			var listed []string
			for token := ""; ; {
				page := &a2apb.ListTaskPushNotificationConfigsResponse{}
				do("ListTaskPushNotificationConfigs", &a2apb.ListTaskPushNotificationConfigsRequest{TaskId: id, PageSize: 2, PageToken: token}, page)
				for _, c := range page.GetConfigs() {
					listed = append(listed, c.GetId())
				}
				if token = page.GetNextPageToken(); token == "" {
					break
				}
			}
			if !slices.Equal(listed, ids) {
				t.Errorf("listed %v, want %v", listed, ids)
			}
			for range 2 {
				do("DeleteTaskPushNotificationConfig", &a2apb.DeleteTaskPushNotificationConfigRequest{TaskId: id, Id: "other"}, answerOf("DeleteTaskPushNotificationConfig"))
			}
			taskNotFound.check(t, b, fails(t, b, call{method: "GetTaskPushNotificationConfig", as: "alice", request: toTenant(tenant, &a2apb.GetTaskPushNotificationConfigRequest{TaskId: id, Id: "other"})}))

			m := message("", "blue")
			m.TaskId = id
			do("SendMessage", sendTo(tenant, m), &a2apb.SendMessageResponse{})
			paths := map[string]bool{}
			for range 2 {
				for _, n := range r.until(t, id, "TASK_STATE_COMPLETED") {
					paths[strings.TrimPrefix(n.claims.Audience, r.URL)] = true
				}
				if len(paths) == 2 {
					break
				}
				time.Sleep(50 * time.Millisecond)
			}
			if paths["/other"] {
				t.Error("a deleted configuration was notified")
			}
		}
	})
}

func TestAConfigurationComesWithAFollowUp(t *testing.T) {
	s := start(t)
	onAll(t, s, func(t *testing.T, b binding) {
		r := s.receiver(t)
		task := send(t, b, message("ask", "go"))
		m := message("", "blue")
		m.TaskId = task.GetId()
		send(t, b, m, &a2apb.SendMessageConfiguration{TaskPushNotificationConfig: &a2apb.TaskPushNotificationConfig{Url: r.URL}})
		got := r.until(t, task.GetId(), "TASK_STATE_COMPLETED")
		if want := []string{"WORKING", "COMPLETED"}; !slices.Equal(states(got), want) {
			t.Errorf("notified of %v, want %v: what came after the configuration", states(got), want)
		}
	})
}

// The answer may be there before its webhook: the end is told all the same.
func TestAConfigurationOfAnEndedTaskGetsItsEnd(t *testing.T) {
	s := start(t)
	onAll(t, s, func(t *testing.T, b binding) {
		r := s.receiver(t)
		task := send(t, b, message("complete", "go"))
		if f := b.unary(t, call{method: "CreateTaskPushNotificationConfig", as: "alice", request: &a2apb.TaskPushNotificationConfig{TaskId: task.GetId(), Url: r.URL}}, &a2apb.TaskPushNotificationConfig{}); f != nil {
			t.Fatal(f)
		}
		got := r.until(t, task.GetId(), "TASK_STATE_COMPLETED")
		if len(got) != 1 || len(got[0].event.GetTask().GetArtifacts()) != 1 {
			t.Errorf("notified of %v, want the task as it ended", got)
		}
	})
}

func TestAnUnreachableWebhookShowsOnTheTask(t *testing.T) {
	s := start(t)
	onAll(t, s, func(t *testing.T, b binding) {
		res := &a2apb.SendMessageResponse{}
		gone := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusGone) }))
		t.Cleanup(gone.Close)
		req := withPush("", "complete", &a2apb.TaskPushNotificationConfig{Id: "hook", Url: gone.URL})
		if f := b.unary(t, call{method: "SendMessage", request: req, as: "alice"}, res); f != nil {
			t.Fatal(f)
		}
		for limit := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) {
			health := get(t, b, res.GetTask().GetId()).GetMetadata().GetFields()[ext.Push].GetStructValue().GetFields()["hook"].GetStructValue().AsMap()
			if health["state"] == "disabled" {
				if health["reason"] != "HTTP 410: the receiver wants no more notifications" || health["failures"] != 1.0 {
					t.Errorf("the owner reads %v", health)
				}
				break
			}
			if time.Now().After(limit) {
				t.Fatalf("the owner reads %v", health)
			}
		}
	})
}
