package secured

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/proto"

	"sabha.dev/chassis/bus"
	"sabha.dev/chassis/clock"
	"sabha.dev/chassis/eventlog"
	"sabha.dev/chassis/identity"
	"sabha.dev/chassis/sqldb"
	eventv1 "sabha.dev/gen/sabha/event/v1"
	"sabha.dev/services/research"
	"sabha.dev/services/review"
)

const document = `# Backups

## Schedule

Backups of the customer database are taken every six hours. Each one is kept for thirty days.
`

func TestThePlatformWorksUnderItsPermissions(t *testing.T) {
	d := deploy(t)
	docs := t.TempDir()
	if err := os.WriteFile(filepath.Join(docs, "backups.md"), []byte(document), 0o600); err != nil {
		t.Fatal(err)
	}
	g := d.serve(t, docs)
	events := d.watch(t)
	key, err := g.FirstKey(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	web := http.Client{Transport: &http.Transport{TLSClientConfig: d.trusting(t, ""), ForceAttemptHTTP2: true}, Timeout: time.Minute}
	body := `{"message":{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"How often are backups taken?"}]}}`
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+g.HTTPAddr()+"/message:send", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = http.Header{"Content-Type": {"application/json"}, "A2a-Version": {"1.0"}, "X-Api-Key": {key}}
	res, err := web.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	var answer struct {
		Task struct {
			Status    struct{ State string }
			Artifacts []struct{ Parts []struct{ Text string } }
		}
	}
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil {
		t.Fatal(err)
	}
	if answer.Task.Status.State != "TASK_STATE_COMPLETED" || !strings.Contains(answer.Task.Artifacts[0].Parts[0].Text, "every six hours") {
		t.Errorf("the answer over HTTPS is %+v", answer.Task)
	}
	t.Run("research hears and replays its events", func(t *testing.T) { d.replays(t, events) })
	t.Run("an agent of one's own delegates on the bus", func(t *testing.T) { d.delegates(t) })
	t.Run("review tells programs what happens to reviews", func(t *testing.T) { d.tells(t) })
	t.Run("what research may not do on NATS", func(t *testing.T) { d.forbiddenOnNATS(t) })
	if said := d.log.String(); strings.Contains(strings.ToLower(said), "permissions violation") {
		t.Errorf("a service lacks a permission:\n%s", said)
	}
	t.Run("what a stranger may not do", func(t *testing.T) { d.strangers(t) })
	t.Run("what research may not do in PostgreSQL", func(t *testing.T) { d.forbiddenInPostgreSQL(t) })
}

// watch hears the events of research as a replica of it does.
func (d *deployment) watch(t *testing.T) *nats.Subscription {
	t.Helper()
	nc, _ := d.connect(t, research.Name)
	events, err := nc.SubscribeSync("sabha.events.research.*")
	if err != nil {
		t.Fatal(err)
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	return events
}

func (d *deployment) replays(t *testing.T, events *nats.Subscription) {
	msg, err := events.NextMsg(time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	bundle := &eventv1.Bundle{}
	if err := proto.Unmarshal(msg.Data, bundle); err != nil {
		t.Fatal(err)
	}
	nc, _ := d.connect(t, research.Name)
	log, err := eventlog.Open(t.Context(), nc, eventlog.Retention{})
	if err != nil {
		t.Fatal(err)
	}
	again, err := log.Replay(t.Context(), research.Name, bundle.GetTaskId(), bundle.GetEpoch(), 0)
	if err != nil || len(again) == 0 {
		t.Errorf("%d events of the task are replayed, %v", len(again), err)
	}
}

// connect connects to NATS with a certificate. Permissions that are violated arrive
// at the function that it returns.
func (d *deployment) connect(t *testing.T, name string) (*nats.Conn, func(t *testing.T, subject string)) {
	t.Helper()
	violations := make(chan string, 16)
	nc, err := nats.Connect(d.nats.URL(), nats.Secure(d.trusting(t, name)), nats.CustomInboxPrefix("_INBOX."+name),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { violations <- err.Error() }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc, func(t *testing.T, subject string) {
		t.Helper()
		select {
		case said := <-violations:
			if !strings.Contains(strings.ToLower(said), "permissions violation") || !strings.Contains(said, subject) {
				t.Errorf("%s: %s", subject, said)
			}
		case <-time.After(time.Minute):
			t.Errorf("%s was not refused", subject)
		}
	}
}

// tells has the running review agent publish what waits in its database.
func (d *deployment) tells(t *testing.T) {
	nc, _ := d.connect(t, "operator")
	heard, err := nc.SubscribeSync("sabha.review.>")
	if err != nil {
		t.Fatal(err)
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	db, err := sqldb.Open(t.Context(), d.database(review.Name, review.Name, review.Name))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if _, err := db.Write.ExecContext(t.Context(), `INSERT INTO review_notices (id, item_id, channel, what, queue, body, send_at, attempts, problem)
		VALUES ('i/1.0/event', 'i', 'event', 'created', 'general', '{"item":"i"}', 1, 0, '')`); err != nil {
		t.Fatal(err)
	}
	msg, err := heard.NextMsg(time.Minute)
	if err != nil || msg.Subject != "sabha.review.general.created" || string(msg.Data) != `{"item":"i"}` {
		t.Errorf("heard %v, %v", msg, err)
	}
}

func (d *deployment) delegates(t *testing.T) {
	key, err := identity.LoadKey(filepath.Join(d.keys, "weather.key"))
	if err != nil {
		t.Fatal(err)
	}
	signer, err := identity.NewSigner("weather", key, clock.System{})
	if err != nil {
		t.Fatal(err)
	}
	token, err := signer.Token(research.Name, identity.Call{})
	if err != nil {
		t.Fatal(err)
	}
	nc, _ := d.connect(t, "weather")
	replies, err := nc.SubscribeSync("kalki.replies.weather")
	if err != nil {
		t.Fatal(err)
	}
	frame := `{"trace_id":"t1","parent_agent":"weather","target_agent":"research","message_type":"DELEGATE_SUBTASK",
		"payload":{"subtask_id":"s1","skill":"search","instruction":"How often are backups taken?"}}`
	err = nc.PublishMsg(&nats.Msg{Subject: "kalki.agents.research", Data: []byte(frame), Header: nats.Header{"Content-Type": {bus.JSON}, bus.TokenHeader: {token}}})
	if err != nil {
		t.Fatal(err)
	}
	for {
		msg, err := replies.NextMsg(time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		var f struct {
			MessageType string `json:"message_type"`
		}
		if err := json.Unmarshal(msg.Data, &f); err != nil {
			t.Fatal(err)
		}
		if f.MessageType == bus.Status {
			continue
		}
		if f.MessageType != bus.Result || !strings.Contains(string(msg.Data), "every six hours") {
			t.Errorf("the last reply is %s", msg.Data)
		}
		return
	}
}

func (d *deployment) forbiddenOnNATS(t *testing.T) {
	nc, refused := d.connect(t, research.Name)
	for _, subject := range []string{
		"sabha.events.planner.t1", "kalki.agents.planner", "kalki.dead.planner", "kalki.trace.planner",
		"$JS.API.STREAM.DELETE.SABHA_EVENTS", "$JS.API.STREAM.PURGE.SABHA_EVENTS", "$JS.API.STREAM.UPDATE.SABHA_EVENTS", "$JS.API.STREAM.CREATE.COPY",
		"$JS.API.CONSUMER.CREATE.KALKI_AGENTS.research.kalki.agents.planner", "$JS.API.CONSUMER.MSG.NEXT.KALKI_AGENTS.planner",
		"$JS.API.CONSUMER.DELETE.KALKI_AGENTS.planner", "$JS.API.STREAM.MSG.GET.KALKI_AGENTS", "$JS.ACK.KALKI_AGENTS.planner.1.1.1.1.0",
		"$SYS.REQ.SERVER.PING", "_INBOX.planner.x",
	} {
		if err := nc.Publish(subject, []byte("{}")); err != nil {
			t.Fatal(err)
		}
		refused(t, subject)
	}
	for _, subject := range []string{"sabha.events.planner.*", "sabha.events.>", "sabha.wake.planner", "kalki.agents.*", "kalki.replies.weather", "_INBOX.>", "_INBOX.planner.>", ">"} {
		if _, err := nc.SubscribeSync(subject); err != nil {
			t.Fatal(err)
		}
		refused(t, subject)
	}
}

func (d *deployment) strangers(t *testing.T) {
	if _, err := nats.Connect(d.nats.URL(), nats.Secure(d.trusting(t, ""))); err == nil {
		t.Error("NATS let somebody in without a certificate")
	}
	// Certificates of the authority that have no business there.
	for _, name := range []string{identity.Gateway, "postgres"} {
		if _, err := nats.Connect(d.nats.URL(), nats.Secure(d.trusting(t, name))); err == nil || !strings.Contains(err.Error(), "Authorization Violation") {
			t.Errorf("NATS answers %s with %v", name, err)
		}
	}
	if _, err := nats.Connect(d.nats.URL()); err == nil {
		t.Error("NATS let somebody in over plain text")
	}
}
