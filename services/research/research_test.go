package research_test

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/clock"
	"sabha.dev/chassis/ext"
	"sabha.dev/chassis/identity"
	"sabha.dev/chassis/service"
	"sabha.dev/services/research"
	"sabha.dev/testrig/natstest"
)

const handbook = "internal/retrieval/testdata/handbook"

// platform is a running research with a caller beside it.
type platform struct {
	client  a2apb.A2AServiceClient
	running *service.Running
	gateway *identity.Signer
}

func environment(t *testing.T) (service.Env, map[string]ed25519.PrivateKey) {
	t.Helper()
	dir := t.TempDir()
	services := []string{research.Name, "caller", "gateway"}
	if err := identity.MakeKeys(dir, services...); err != nil {
		t.Fatal(err)
	}
	ring, err := identity.LoadKeyring(dir)
	if err != nil {
		t.Fatal(err)
	}
	private := map[string]ed25519.PrivateKey{}
	for _, s := range services {
		if private[s], err = identity.LoadKey(filepath.Join(dir, s+".key")); err != nil {
			t.Fatal(err)
		}
	}
	return service.Env{
		Clock: clock.System{}, Log: slog.New(slog.DiscardHandler), NATS: natstest.New(t).Connect(t), Keys: ring,
		Key: private[research.Name], Network: service.NewMemory(), Exclusive: true, Release: "test",
	}, private
}

func start(t *testing.T, c research.Config) *platform {
	t.Helper()
	env, private := environment(t)
	r, err := service.Start(t.Context(), research.New(c), env)
	if err != nil {
		t.Fatal(err)
	}
	env.Key = private["caller"]
	base, done, err := service.OpenBase(t.Context(), service.Definition{Name: "caller"}, env)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		done()
		if err := r.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	conn, err := base.Peer(research.Name)
	if err != nil {
		t.Fatal(err)
	}
	gateway, err := identity.NewSigner("gateway", private["gateway"], clock.System{})
	if err != nil {
		t.Fatal(err)
	}
	return &platform{client: a2apb.NewA2AServiceClient(conn), running: r, gateway: gateway}
}

// as gives the context of a caller; an empty subject is anonymous.
func (p *platform) as(t *testing.T, subject string) context.Context {
	t.Helper()
	grant, err := p.gateway.Grant(identity.Principal{Subject: subject, Organisation: "acme"})
	if err != nil {
		t.Fatal(err)
	}
	return metadata.AppendToOutgoingContext(identity.WithOutgoing(t.Context(), identity.Call{Grant: grant}), "a2a-version", "1.0")
}

func config(t *testing.T, documents string) research.Config {
	return research.Config{Config: service.Config{Database: "sqlite:" + filepath.Join(t.TempDir(), "research.db")}, Documents: documents}
}

func request(id, skill, text string) *a2apb.SendMessageRequest {
	return &a2apb.SendMessageRequest{Message: &a2apb.Message{
		MessageId: id, Role: a2apb.Role_ROLE_USER, Parts: []*a2apb.Part{agent.Text(text)},
		Metadata: &structpb.Struct{Fields: map[string]*structpb.Value{ext.Skill: structpb.NewStringValue(skill)}},
	}}
}

// first is the first passage of an answer's data part.
func first(t *testing.T, parts []*a2apb.Part) map[string]*structpb.Value {
	t.Helper()
	list := agent.DataOf(parts).GetStructValue().GetFields()["results"].GetListValue().GetValues()
	if len(list) == 0 {
		t.Fatalf("no passages in %v", parts)
	}
	return list[0].GetStructValue().GetFields()
}

func TestSearchAnswersAnybodyWithPassagesThatCanBeChecked(t *testing.T) {
	p := start(t, config(t, handbook))
	res, err := p.client.SendMessage(p.as(t, ""), request("m1", "search", "Who must be present to restore an encrypted archive?"))
	if err != nil {
		t.Fatal(err)
	}
	if res.GetTask() != nil || res.GetMessage() == nil {
		t.Fatalf("want a direct message, got %v", res)
	}
	got := first(t, res.GetMessage().GetParts())
	if got["document"].GetStringValue() != "backup.md" || got["heading_path"].GetListValue().GetValues()[1].GetStringValue() != "Encryption of copies" {
		t.Errorf("got %v", got)
	}
	source, err := os.ReadFile(filepath.Join(handbook, got["document"].GetStringValue()))
	if err != nil {
		t.Fatal(err)
	}
	from, to := int(got["start"].GetNumberValue()), int(got["end"].GetNumberValue())
	if quoted := string(source[from:to]); quoted != got["text"].GetStringValue() || !strings.Contains(quoted, "key custodians") {
		t.Errorf("bytes %d–%d of the file are %q, the passage is %q", from, to, quoted, got["text"].GetStringValue())
	}
}

func TestInvestigateIsATaskThatStreams(t *testing.T) {
	p := start(t, config(t, handbook))
	stream, err := p.client.SendStreamingMessage(p.as(t, "alice"), request("m1", "investigate", "Who may shut down the portal? How long are packet captures kept?"))
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	var artifact *a2apb.Artifact
	for {
		event, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case event.GetTask() != nil:
			kinds = append(kinds, "task")
		case event.GetStatusUpdate() != nil:
			kinds = append(kinds, strings.TrimPrefix(event.GetStatusUpdate().GetStatus().GetState().String(), "TASK_STATE_"))
		case event.GetArtifactUpdate() != nil:
			kinds = append(kinds, "artifact")
			artifact = event.GetArtifactUpdate().GetArtifact()
		}
	}
	if got, want := strings.Join(kinds, " "), "task WORKING WORKING WORKING WORKING artifact COMPLETED"; got != want {
		t.Errorf("events %s, want %s", got, want)
	}
	if got := first(t, artifact.GetParts()); got["document"].GetStringValue() != "incident.md" {
		t.Errorf("got %v", got)
	}
}

func TestBadInputIsAFieldErrorAndAMissIsAnAnswer(t *testing.T) {
	p := start(t, config(t, handbook))
	if _, err := p.client.SendMessage(p.as(t, ""), request("m1", "search", "   ")); status.Code(err) != codes.InvalidArgument {
		t.Errorf("an empty query: %v", err)
	}
	res, err := p.client.SendMessage(p.as(t, ""), request("m2", "search", "capital of Mongolia"))
	if err != nil || !strings.HasPrefix(res.GetMessage().GetParts()[0].GetText(), "Extracted 0 relevant passages") {
		t.Errorf("a miss: %v, %v", res, err)
	}
}

func TestMCPIsMountedOnTheServicesHTTPPort(t *testing.T) {
	p := start(t, config(t, handbook))
	s := httptest.NewServer(service.Handler(&service.Base{}, nil, p.running.Persona().HTTP))
	defer s.Close()
	res, err := http.Post(s.URL+research.MCPPath, "application/json", strings.NewReader(
		`{"jsonrpc":"2.0","id":"r1","method":"tools/call","params":{"name":"kalki_vector_search","arguments":{"query":"verify the webhook signature","top_k":1}}}`))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, _ := io.ReadAll(res.Body)
	for _, want := range []string{`"id":"r1"`, `"isError":false`, "Extracted 1 relevant passage from Portal API.", `"heading_path":["Portal API","Webhooks"]`} {
		if !strings.Contains(string(body), want) {
			t.Errorf("%s is not in %d %s", want, res.StatusCode, body)
		}
	}
}

func TestIngestBesideARunningServiceIsFound(t *testing.T) {
	c := config(t, "")
	p := start(t, c)
	res, err := p.client.SendMessage(p.as(t, ""), request("m1", "search", "espresso descaling"))
	if err != nil || !strings.HasPrefix(res.GetMessage().GetParts()[0].GetText(), "Extracted 0") {
		t.Fatalf("before: %v, %v", res, err)
	}
	report, err := research.Ingest(t.Context(), c, handbook)
	if err != nil || len(report.Ingested) != 8 || report.Unchanged != 0 || len(report.Skipped) != 0 {
		t.Fatalf("report %+v, %v", report, err)
	}
	if res, err = p.client.SendMessage(p.as(t, ""), request("m2", "search", "espresso descaling")); err != nil {
		t.Fatal(err)
	}
	if got := first(t, res.GetMessage().GetParts()); got["document"].GetStringValue() != "coffee.md" {
		t.Errorf("after: %v", got)
	}
	if report, err = research.Ingest(t.Context(), c, handbook); err != nil || report.Unchanged != 8 || len(report.Ingested) != 0 {
		t.Errorf("again: %+v, %v", report, err)
	}
}

func TestAMissingFolderFailsTheStart(t *testing.T) {
	env, _ := environment(t)
	_, err := service.Start(t.Context(), research.New(config(t, "/no/such/folder")), env)
	if err == nil || !strings.Contains(err.Error(), "research: documents folder /no/such/folder does not exist") {
		t.Errorf("got %v", err)
	}
}

func TestVectorsMayBeMadeByAModelElsewhere(t *testing.T) {
	question := "Who must be present to restore an encrypted archive?"
	var mu sync.Mutex
	var asked []string
	away := true
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if away {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		var q struct{ Input []string }
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
			t.Error(err)
		}
		asked = append(asked, q.Input...)
		type one struct {
			Index     int       `json:"index"`
			Embedding []float64 `json:"embedding"`
		}
		data := make([]one, len(q.Input))
		for i, text := range q.Input { // near the question is what answers it
			data[i] = one{i, []float64{0, 0, 0, 0, 0, 0, 0, 1}}
			if text == question || strings.Contains(text, "Encryption of copies") {
				data[i].Embedding = []float64{1, 0, 0, 0, 0, 0, 0, 0}
			}
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"data": data})
	}))
	defer model.Close()
	c := config(t, handbook)
	c.Embeddings = research.Embeddings{BaseURL: model.URL + "/v1", Name: "small", Dimensions: 8}
	answered := func(p *platform, id string) {
		t.Helper()
		res, err := p.client.SendMessage(p.as(t, ""), request(id, "search", question))
		if err != nil {
			t.Fatal(err)
		}
		data := agent.DataOf(res.GetMessage().GetParts()).GetStructValue().GetFields()
		if got := data["embedding"].GetStringValue(); got != "endpoint/small/8" {
			t.Errorf("found by vectors of %q", got)
		}
		if got := first(t, res.GetMessage().GetParts())["document"].GetStringValue(); got != "backup.md" {
			t.Errorf("found %s", got)
		}
	}
	answered(start(t, c), "by-words")

	mu.Lock()
	away = false
	mu.Unlock()
	c.Documents = "" // nothing is ingested again
	again := start(t, c)
	for has := false; !has; {
		select {
		case <-t.Context().Done():
			t.Fatal("the vectors are not made")
		case <-time.After(10 * time.Millisecond):
		}
		mu.Lock()
		has = slices.ContainsFunc(asked, func(text string) bool { return strings.Contains(text, "Encryption of copies") })
		mu.Unlock()
	}
	answered(again, "by-vectors")
	mu.Lock()
	defer mu.Unlock()
	if !slices.Contains(asked, question) {
		t.Errorf("the query was not embedded; asked for %d texts", len(asked))
	}
}
