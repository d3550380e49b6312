package interop

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"slices"
	"strings"
	"testing"

	old "github.com/a2aproject/a2a-go/a2a"
	oldclient "github.com/a2aproject/a2a-go/a2aclient"
	oldcard "github.com/a2aproject/a2a-go/a2aclient/agentcard"
	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2aclient/agentcard"
	"github.com/a2aproject/a2a-go/v2/a2acompat/a2av0"
	a2agrpc "github.com/a2aproject/a2a-go/v2/a2agrpc/v0"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

const playbookKey = "urn:sabha:ext:playbook:v1"

// textOf joins the texts of artifacts of 0.3.
func textOf(t *old.Task) (text string) {
	for _, a := range t.Artifacts {
		for _, p := range a.Parts {
			if p, ok := p.(old.TextPart); ok {
				text += p.Text
			}
		}
	}
	return text
}

// told puts the events of a stream of 0.3 into words.
func told(t *testing.T, events iter.Seq2[old.Event, error]) (all []string) {
	t.Helper()
	for e, err := range events {
		if err != nil {
			t.Fatal(err)
		}
		switch e := e.(type) {
		case *old.Task:
			all = append(all, "task "+string(e.Status.State))
		case *old.TaskStatusUpdateEvent:
			end := ""
			if e.Final {
				end = " final"
			}
			all = append(all, "status "+string(e.Status.State)+end)
		case *old.TaskArtifactUpdateEvent:
			all = append(all, "artifact "+textOf(&old.Task{Artifacts: []*old.Artifact{e.Artifact}}))
		}
	}
	return all
}

// streamError is the error that a stream begins with.
func streamError[E any](events iter.Seq2[E, error]) error {
	for _, err := range events {
		return err
	}
	return nil
}

// TestOldGoSDK drives A2A 0.3 with the Go SDK of that time. It has no HTTP+JSON.
func TestOldGoSDK(t *testing.T) {
	p := start(t)
	for _, transport := range []old.TransportProtocol{old.TransportProtocolJSONRPC, old.TransportProtocolGRPC} {
		t.Run(string(transport), func(t *testing.T) {
			ctx := t.Context()
			card, err := oldcard.DefaultResolver.Resolve(ctx, p.url)
			if err != nil {
				t.Fatal(err)
			}
			connect := func(credentials oldclient.SessionCredentials) *oldclient.Client {
				store := oldclient.NewInMemoryCredentialsStore()
				for scheme, c := range credentials {
					store.Set("me", scheme, c)
				}
				c, err := oldclient.NewFromCard(ctx, card, oldclient.WithGRPCTransport(grpc.WithTransportCredentials(insecure.NewCredentials())),
					oldclient.WithConfig(oldclient.Config{PreferredTransports: []old.TransportProtocol{transport}}),
					oldclient.WithInterceptors(&oldclient.AuthInterceptor{Service: store}))
				if err != nil {
					t.Fatal(err)
				}
				return c
			}
			// The SDK finds out from the card how a key is sent.
			o := oldGo{t: t, ctx: oldclient.WithSessionID(ctx, "me"), client: connect(oldclient.SessionCredentials{"apiKey": oldclient.AuthCredential(p.key)})}
			done := o.checkAnswers()
			o.checkLife()
			o.checkErrors(done)
			o.checkWebhooks(done)
			nobody := connect(nil)
			if _, err := nobody.SendMessage(ctx, &old.MessageSendParams{Message: ask03("How often are backups taken?")}); err == nil {
				t.Error("nobody got an answer of the planner")
			}
			byBearer := connect(oldclient.SessionCredentials{"bearer": oldclient.AuthCredential(p.key)})
			if got, err := byBearer.GetTask(o.ctx, &old.TaskQueryParams{ID: done}); err != nil || got.ID != done {
				t.Errorf("by bearer token: %v, %v", got, err)
			}
		})
	}
}

func ask03(text string) *old.Message {
	return old.NewMessage(old.MessageRoleUser, old.TextPart{Text: text})
}

type oldGo struct {
	t      *testing.T
	ctx    context.Context
	client *oldclient.Client
}

func (o oldGo) send(m *old.Message) *old.Task {
	o.t.Helper()
	r, err := o.client.SendMessage(o.ctx, &old.MessageSendParams{Message: m})
	if err != nil {
		o.t.Fatal(err)
	}
	task, ok := r.(*old.Task)
	if !ok {
		o.t.Fatalf("answered with %T", r)
	}
	return task
}

func (o oldGo) checkAnswers() old.TaskID {
	t := o.t
	t.Helper()
	m := ask03("How often are backups taken?")
	sent := o.send(m)
	equal(t, "sent", sent.Status.State, old.TaskStateCompleted)
	if !strings.Contains(textOf(sent), "every six hours") {
		t.Errorf("answer %q", textOf(sent))
	}
	equal(t, "sent again", o.send(m).ID, sent.ID)
	got, err := o.client.GetTask(o.ctx, &old.TaskQueryParams{ID: sent.ID})
	if err != nil || got.Status.State != old.TaskStateCompleted || textOf(got) != textOf(sent) {
		t.Errorf("got %+v, %v", got, err)
	}
	events := told(t, o.client.SendStreamingMessage(o.ctx, &old.MessageSendParams{Message: ask03("What does a restore need?")}))
	equal(t, "first event", events[0], "task submitted")
	equal(t, "last event", events[len(events)-1], "status completed final")
	if !slices.ContainsFunc(events, func(e string) bool { return strings.Contains(e, "two operators") }) {
		t.Errorf("no artifact in the stream answers: %v", events)
	}
	card, err := o.client.GetAgentCard(o.ctx)
	if err != nil || !slices.ContainsFunc(card.Skills, func(s old.AgentSkill) bool { return s.ID == "playbook:general" }) {
		t.Errorf("extended card %+v, %v", card, err)
	}
	return sent.ID
}

func (o oldGo) checkLife() {
	t := o.t
	t.Helper()
	compute := func() *old.Task {
		m := ask03("Compute it.")
		m.Metadata = map[string]any{playbookKey: "compute"}
		return o.send(m)
	}
	asked := compute()
	equal(t, "asked", asked.Status.State, old.TaskStateInputRequired)
	subscribed := make(chan []string)
	go func() {
		var all []string
		defer func() { subscribed <- all }()
		all = told(t, o.client.ResubscribeToTask(o.ctx, &old.TaskIDParams{ID: asked.ID}))
	}()
	answer := old.NewMessageForTask(old.MessageRoleUser, asked, old.DataPart{Data: map[string]any{"code": "result = 6 * 7"}})
	answered := o.send(answer)
	equal(t, "answered", string(answered.Status.State)+" "+textOf(answered), "completed 42")
	if all := <-subscribed; len(all) == 0 || all[len(all)-1] != "status completed final" {
		t.Errorf("subscribed to %v, want status completed at the end", all)
	}
	canceled, err := o.client.CancelTask(o.ctx, &old.TaskIDParams{ID: compute().ID})
	if err != nil || (canceled.Status.State != old.TaskStateWorking && canceled.Status.State != old.TaskStateCanceled) {
		t.Errorf("canceled %+v, %v", canceled, err)
	}
}

func (o oldGo) checkErrors(done old.TaskID) {
	t := o.t
	t.Helper()
	more := ask03("More?")
	more.TaskID = done
	_, unknown := o.client.GetTask(o.ctx, &old.TaskQueryParams{ID: "nothing"})
	_, finished := o.client.CancelTask(o.ctx, &old.TaskIDParams{ID: done})
	_, again := o.client.SendMessage(o.ctx, &old.MessageSendParams{Message: more})
	_, push := o.client.SetTaskPushConfig(o.ctx, &old.TaskPushConfig{TaskID: "nothing", Config: old.PushConfig{URL: "https://example.com"}})
	_, empty := o.client.SendMessage(o.ctx, &old.MessageSendParams{Message: old.NewMessage(old.MessageRoleUser)})
	for _, c := range []struct {
		name      string
		got, want error
	}{
		{"get an unknown task", unknown, old.ErrTaskNotFound},
		{"subscribe to an unknown task", streamError(o.client.ResubscribeToTask(o.ctx, &old.TaskIDParams{ID: "nothing"})), old.ErrTaskNotFound},
		{"subscribe to a finished task", streamError(o.client.ResubscribeToTask(o.ctx, &old.TaskIDParams{ID: done})), old.ErrUnsupportedOperation},
		{"cancel a finished task", finished, old.ErrTaskNotCancelable},
		{"send to a finished task", again, old.ErrUnsupportedOperation},
		{"a webhook of an unknown task", push, old.ErrTaskNotFound},
		{"no parts", empty, old.ErrInvalidParams},
	} {
		if !errors.Is(c.got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, c.got, c.want)
		}
	}
}

func (o oldGo) checkWebhooks(done old.TaskID) {
	t := o.t
	t.Helper()
	made, err := o.client.SetTaskPushConfig(o.ctx, &old.TaskPushConfig{TaskID: done, Config: old.PushConfig{URL: "https://example.com/hook", Token: "chosen"}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := o.client.GetTaskPushConfig(o.ctx, &old.GetTaskPushConfigParams{TaskID: done, ConfigID: made.Config.ID})
	if err != nil || got.Config.Token != "chosen" {
		t.Errorf("webhook %+v, %v", got, err)
	}
	if list, err := o.client.ListTaskPushConfig(o.ctx, &old.ListTaskPushConfigParams{TaskID: done}); err != nil || len(list) != 1 {
		t.Errorf("webhooks %+v, %v", list, err)
	}
	if err := o.client.DeleteTaskPushConfig(o.ctx, &old.DeleteTaskPushConfigParams{TaskID: done, ConfigID: made.Config.ID}); err != nil {
		t.Error(err)
	}
	if list, err := o.client.ListTaskPushConfig(o.ctx, &old.ListTaskPushConfigParams{TaskID: done}); err != nil || len(list) != 0 {
		t.Errorf("webhooks after the only one was deleted: %+v, %v", list, err)
	}
}

// TestGoSDKInOldVersion drives A2A 0.3 with the Go SDK of today.
func TestGoSDKInOldVersion(t *testing.T) {
	p := start(t)
	card, err := (&agentcard.Resolver{CardParser: a2av0.NewAgentCardParser()}).Resolve(t.Context(), withScopesAsArrays(t, p.url))
	if err != nil {
		t.Fatal(err)
	}
	card.SupportedInterfaces = slices.DeleteFunc(card.SupportedInterfaces, func(i *a2a.AgentInterface) bool { return i.ProtocolVersion != a2av0.Version })
	for _, transport := range []a2a.TransportProtocol{a2a.TransportProtocolJSONRPC, a2a.TransportProtocolHTTPJSON, a2a.TransportProtocolGRPC} {
		t.Run(string(transport), func(t *testing.T) {
			client, err := a2aclient.NewFromCard(t.Context(), card,
				a2av0.WithJSONRPCTransport(a2av0.JSONRPCTransportConfig{Client: http.DefaultClient}), a2av0.WithRESTTransport(a2av0.RESTTransportConfig{Client: http.DefaultClient}),
				a2agrpc.WithGRPCTransport(grpc.WithTransportCredentials(insecure.NewCredentials())),
				a2aclient.WithConfig(a2aclient.Config{PreferredTransports: []a2a.TransportProtocol{transport}}),
				a2aclient.WithCallInterceptors(keyed{key: p.key}))
			if err != nil {
				t.Fatal(err)
			}
			checkNewGo(t, client)
		})
	}
}

// keyed sends an API key with every call.
type keyed struct {
	a2aclient.PassthroughInterceptor
	key string
}

// Before adds the key.
func (k keyed) Before(ctx context.Context, req *a2aclient.Request) (context.Context, any, error) {
	req.ServiceParams.Append("x-api-key", k.key)
	return ctx, nil, nil
}

func checkNewGo(t *testing.T, client *a2aclient.Client) {
	t.Helper()
	ctx := t.Context()
	send := func(m *a2a.Message) *a2a.Task {
		t.Helper()
		r, err := client.SendMessage(ctx, &a2a.SendMessageRequest{Message: m})
		if err != nil {
			t.Fatal(err)
		}
		return r.(*a2a.Task)
	}
	text := func(task *a2a.Task) (s string) {
		for _, a := range task.Artifacts {
			for _, p := range a.Parts {
				s += p.Text()
			}
		}
		return s
	}
	sent := send(a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart("How often are backups taken?")))
	if sent.Status.State != a2a.TaskStateCompleted || !strings.Contains(text(sent), "every six hours") {
		t.Errorf("sent %s: %q", sent.Status.State, text(sent))
	}
	got, err := client.GetTask(ctx, &a2a.GetTaskRequest{ID: sent.ID})
	if err != nil || text(got) != text(sent) {
		t.Errorf("got %+v, %v", got, err)
	}
	compute := a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart("Compute it."))
	compute.Metadata = map[string]any{playbookKey: "compute"}
	asked := send(compute)
	equal(t, "asked", asked.Status.State, a2a.TaskStateInputRequired)
	answered := send(a2a.NewMessageForTask(a2a.MessageRoleUser, asked, a2a.NewDataPart(map[string]any{"code": "result = 6 * 7"})))
	equal(t, "answered", string(answered.Status.State)+" "+text(answered), "TASK_STATE_COMPLETED 42")

	var last a2a.Event
	for e, err := range client.SendStreamingMessage(ctx, &a2a.SendMessageRequest{Message: a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart("What does a restore need?"))}) {
		if err != nil {
			t.Fatal(err)
		}
		last = e
	}
	if s, ok := last.(*a2a.TaskStatusUpdateEvent); !ok || s.Status.State != a2a.TaskStateCompleted {
		t.Errorf("the stream ends with %+v", last)
	}

	_, unknown := client.GetTask(ctx, &a2a.GetTaskRequest{ID: "nothing"})
	_, finished := client.CancelTask(ctx, &a2a.CancelTaskRequest{ID: sent.ID})
	_, again := client.SendMessage(ctx, &a2a.SendMessageRequest{Message: a2a.NewMessageForTask(a2a.MessageRoleUser, sent, a2a.NewTextPart("More?"))})
	_, push := client.CreateTaskPushConfig(ctx, &a2a.PushConfig{TaskID: "nothing", URL: "https://example.com"})
	made, err := client.CreateTaskPushConfig(ctx, &a2a.PushConfig{TaskID: sent.ID, ID: "hook", URL: "https://example.com"})
	if err != nil || made.ID != "hook" {
		t.Errorf("webhook %+v, %v", made, err)
	}
	if list, err := client.ListTaskPushConfigs(ctx, &a2a.ListTaskPushConfigRequest{TaskID: sent.ID}); err != nil || len(list) != 1 || list[0].URL != "https://example.com" {
		t.Errorf("webhooks %+v, %v", list, err)
	}
	for _, c := range []struct {
		name      string
		got, want error
	}{
		{"get an unknown task", unknown, a2a.ErrTaskNotFound},
		{"cancel a finished task", finished, a2a.ErrTaskNotCancelable},
		{"send to a finished task", again, a2a.ErrUnsupportedOperation},
		{"subscribe to a finished task", streamError(client.SubscribeToTask(ctx, &a2a.SubscribeToTaskRequest{ID: sent.ID})), a2a.ErrUnsupportedOperation},
		{"a webhook of an unknown task", push, a2a.ErrTaskNotFound},
	} {
		if !errors.Is(c.got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, c.got, c.want)
		}
	}
}
