package gateway_test

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc"

	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/identity"
	"sabha.dev/chassis/push"
	"sabha.dev/chassis/service"
	partnersv1 "sabha.dev/gen/sabha/partners/v1"
	"sabha.dev/services/gateway"
)

// notified takes notifications for one call, and tells whose they are.
type notified struct {
	partnersv1.UnimplementedNotificationServiceServer
	got chan string
}

func (n notified) TakeNotification(ctx context.Context, q *partnersv1.TakeNotificationRequest) (*partnersv1.TakeNotificationResponse, error) {
	call, _ := identity.CallOf(ctx)
	switch q.GetSecret() {
	case "again":
		return &partnersv1.TakeNotificationResponse{Effect: partnersv1.Effect_EFFECT_KNOWN}, nil
	case "broken":
		return nil, fmt.Errorf("internal text")
	case "call":
		n.got <- fmt.Sprintf("%s %s %d bytes of %q by %s", q.GetToken(), q.GetSignature(), len(q.GetBody()), call.Principal.Key(), call.Actor)
		return &partnersv1.TakeNotificationResponse{Effect: partnersv1.Effect_EFFECT_HINT}, nil
	}
	return nil, fault.New(fault.TaskNotFound, "nothing is waited for here, or not with this token")
}

func TestNotificationsOfPartnersComeInAtTheGateway(t *testing.T) {
	r := start(t, withPeople, func(c *gateway.Config) {
		c.RateLimit.Caller, c.RateLimit.Anonymous = gateway.Limit{PerSecond: 1, Burst: 20}, gateway.Limit{PerSecond: 1, Burst: 2}
	})
	n := notified{got: make(chan string, 10)}
	env := r.env
	env.Key = r.keys["partners"]
	s, err := service.Start(t.Context(), service.Definition{
		Name: "partners", Config: service.Config{Database: "sqlite:" + filepath.Join(t.TempDir(), "partners.db")},
		Build: func(context.Context, *service.Base) (*service.Persona, error) {
			return &service.Persona{
				Agent: r.persona.agent("partners"), Unscreened: true,
				Services: func(s grpc.ServiceRegistrar) { partnersv1.RegisterNotificationServiceServer(s, n) },
				Policy:   identity.Policy{partnersv1.NotificationService_TakeNotification_FullMethodName: {Actors: []string{identity.Gateway}}},
			}, nil
		},
	}, env)
	if err != nil {
		t.Fatal(err)
	}
	r.backstage["partners"] = s
	t.Cleanup(func() { r.stopPersona("partners") })
	send := func(method, secret, body string) (int, string) {
		t.Helper()
		// Credentials are not looked at: those of partners are the secret, the token and the signature.
		code, _, text := r.do(t, method, push.ReceiverPath+secret, body, []string{"X-A2A-Notification-Token: tok", "Sabha-Signature: sig", "X-API-Key: none"})
		return code, text
	}
	for _, c := range []struct {
		what, method, secret, body string
		code                       int
		says                       string
	}{
		{"a notification", http.MethodPost, "call", `{"task":{}}`, 204, ""},
		{"the largest", http.MethodPost, "call", strings.Repeat("x", 4<<20), 204, ""},
		{"one that is larger", http.MethodPost, "call", strings.Repeat("x", 4<<20+1), 413, "the notification is larger than 4 MiB; the task is asked for instead"},
		{"one that was known", http.MethodPost, "again", `{}`, 200, "this was known already; nothing was done"},
		{"a fault of ours", http.MethodPost, "broken", `{}`, 503, "cannot be taken at the moment; send it again"},
		{"a question", http.MethodGet, "call", "", 405, "POST"},
		{"a guess", http.MethodPost, "guess", `{}`, 404, "nothing is waited for here, or not with this token"},
		{"another", http.MethodPost, "guess", `{}`, 404, "nothing is waited for here"},
		{"one too many", http.MethodPost, "guess", `{}`, 429, "RATE_LIMITED"},
		{"a notification after guesses", http.MethodPost, "call", `{}`, 204, ""},
	} {
		code, body := send(c.method, c.secret, c.body)
		if code != c.code || !strings.Contains(body, c.says) || strings.Contains(body, "internal text") {
			t.Errorf("%s: %d %s", c.what, code, body)
		}
	}
	close(n.got)
	for i, want := range []int{11, 4 << 20, 2} {
		if got := <-n.got; got != fmt.Sprintf("tok sig %d bytes of \"\" by gateway", want) {
			t.Errorf("notification %d: %s", i, got)
		}
	}
	code, body := 0, ""
	for i := 0; i < 20 && code != 429; i++ {
		code, body = send(http.MethodPost, "again", `{}`)
	}
	if code != 429 || !strings.Contains(body, "over the limit") {
		t.Errorf("without end: %d %s", code, body)
	}
}
