package agents_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/chassis/ext"
	"sabha.dev/chassis/fault"
	adminv1 "sabha.dev/gen/sabha/admin/v1"
	"sabha.dev/services/console/internal/agents"
	"sabha.dev/testrig/clocktest"
)

// echo is an agent that answers with what it was sent.
type echo struct {
	a2apb.UnimplementedA2AServiceServer
	card *a2apb.AgentCard
}

// cards publishes the card of an agent.
type cards struct {
	adminv1.UnimplementedAdminServiceServer
	card *a2apb.AgentCard
}

func (e *cards) GetCard(context.Context, *adminv1.GetCardRequest) (*adminv1.GetCardResponse, error) {
	if e.card == nil {
		return nil, errors.New("no card")
	}
	raw, err := proto.Marshal(e.card)
	return &adminv1.GetCardResponse{Card: raw}, err
}

func (e *echo) SendStreamingMessage(q *a2apb.SendMessageRequest, s grpc.ServerStreamingServer[a2apb.StreamResponse]) error {
	md, _ := metadata.FromIncomingContext(s.Context())
	if v := md.Get(ext.MetadataVersion); len(v) != 1 || v[0] != "1.0" {
		return fault.New(fault.VersionNotSupported, "version %v", v)
	}
	for _, p := range q.GetMessage().GetParts() {
		if err := s.Send(&a2apb.StreamResponse{Payload: &a2apb.StreamResponse_Message{Message: &a2apb.Message{Parts: []*a2apb.Part{p}}}}); err != nil {
			return err
		}
	}
	return nil
}

func dial(t *testing.T, e *echo, admin bool) grpc.ClientConnInterface {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer(grpc.StreamInterceptor(fault.Stream(slog.New(slog.DiscardHandler))))
	a2apb.RegisterA2AServiceServer(s, e)
	if admin {
		adminv1.RegisterAdminServiceServer(s, &cards{card: e.card})
	}
	go func() { _ = s.Serve(l) }()
	t.Cleanup(s.Stop)
	conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func card() *a2apb.AgentCard {
	return &a2apb.AgentCard{
		Name: "Echo", Description: "Says it again.", Version: "1", DefaultInputModes: []string{"text/plain"}, DefaultOutputModes: []string{"text/plain"},
		Skills: []*a2apb.AgentSkill{{Id: "say", Name: "Say", Description: "Says it.", Tags: []string{"words"}}},
	}
}

func TestEveryAgentIsAskedForItsCard(t *testing.T) {
	n := agents.New(map[string]grpc.ClientConnInterface{"b": dial(t, &echo{card: card()}, true), "a": dial(t, &echo{}, true), "none": dial(t, &echo{}, false)}, clocktest.New(time.Unix(0, 0)), slog.New(slog.DiscardHandler))
	all := n.All(t.Context())
	if len(all) != 2 || all[0].Tenant != "a" || all[0].Card != nil || all[1].Card.GetName() != "Echo" || len(all[1].Problems) != 0 {
		t.Errorf("%+v", all)
	}
	if all[1].Skill("say") == nil || all[1].Skill("sing") != nil || all[0].Skill("say") != nil {
		t.Error("skills are not found by their ids")
	}
	if got := strings.Join(n.Tenants(), " "); got != "a b none" {
		t.Errorf("tenants %s", got)
	}
}

func TestWhatACardLacksIsSaid(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*a2apb.AgentCard)
		want   string
	}{
		"good":       {func(*a2apb.AgentCard) {}, ""},
		"nameless":   {func(c *a2apb.AgentCard) { c.Name = " " }, "It has no name."},
		"no modes":   {func(c *a2apb.AgentCard) { c.DefaultInputModes = nil }, "It has no defaultInputModes."},
		"bad mode":   {func(c *a2apb.AgentCard) { c.DefaultOutputModes = []string{"text"} }, `"text" of defaultOutputModes is no media type.`},
		"skill-less": {func(c *a2apb.AgentCard) { c.Skills = nil }, "It offers no skill."},
		"told some": {func(c *a2apb.AgentCard) {
			c.Skills, c.Capabilities = nil, &a2apb.AgentCapabilities{ExtendedAgentCard: new(true)}
		}, ""},
		"twice":       {func(c *a2apb.AgentCard) { c.Skills = append(c.Skills, c.Skills[0]) }, "The skill say is there twice."},
		"no id":       {func(c *a2apb.AgentCard) { c.Skills[0].Id = "" }, "Skill 1 has no id."},
		"no tags":     {func(c *a2apb.AgentCard) { c.Skills[0].Tags = nil }, "The skill say has no tags."},
		"skill modes": {func(c *a2apb.AgentCard) { c.Skills[0].InputModes = []string{""} }, `"" of the skill say is no media type.`},
		"many":        {func(c *a2apb.AgentCard) { c.Version, c.Description = "", "" }, "It has no description. It has no version."},
	} {
		card := card()
		c.change(card)
		if got := strings.Join(agents.Check(card), " "); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestWhatIsWrittenBecomesAMessage(t *testing.T) {
	m, err := agents.Request{Skill: "say", Playbook: "p", Text: "hi", Data: `{"a":1}`, Metadata: `{"x":"y"}`, ContextID: "c", TaskID: "t", Files: []agents.File{{"a.txt", "text/plain", []byte("z")}}}.Message("m-1")
	want := &a2apb.Message{
		MessageId: "m-1", Role: a2apb.Role_ROLE_USER, ContextId: "c", TaskId: "t",
		Parts: []*a2apb.Part{
			{Content: &a2apb.Part_Text{Text: "hi"}},
			{Content: &a2apb.Part_Data{Data: structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{"a": structpb.NewNumberValue(1)}})}, MediaType: "application/json"},
			{Content: &a2apb.Part_Raw{Raw: []byte("z")}, Filename: "a.txt", MediaType: "text/plain"},
		},
		Metadata: &structpb.Struct{Fields: map[string]*structpb.Value{"x": structpb.NewStringValue("y"), ext.Skill: structpb.NewStringValue("say"), ext.Playbook: structpb.NewStringValue("p")}},
	}
	if err != nil || !proto.Equal(m, want) {
		t.Errorf("%v %v", m, err)
	}
	for want, r := range map[string]agents.Request{
		"write a text":                                   {},
		"the data is no JSON: unexpected end":            {Data: "{"},
		"the metadata is no JSON object: it has another": {Text: "x", Metadata: "[1]"},
	} {
		if _, err := r.Message("m"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", r, err, want)
		}
	}
}

func TestAnAnswerComesAsItsEvents(t *testing.T) {
	n := agents.New(map[string]grpc.ClientConnInterface{"echo": dial(t, &echo{}, true)}, clocktest.New(time.Unix(0, 0)), slog.New(slog.DiscardHandler))
	m, err := agents.Request{Text: "hi", Data: "7"}.Message("m-1")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	if err := n.Send(t.Context(), "echo", m, func(e *a2apb.StreamResponse) error {
		got = append(got, e.GetMessage().GetParts()[0].GetText())
		return nil
	}); err != nil || strings.Join(got, ",") != "hi," {
		t.Errorf("%q %v", got, err)
	}
	if err := n.Send(t.Context(), "nobody", m, nil); !errors.Is(err, agents.ErrNoAgent) {
		t.Errorf("to nobody: %v", err)
	}
	full := errors.New("full")
	if err := n.Send(t.Context(), "echo", m, func(*a2apb.StreamResponse) error { return full }); !errors.Is(err, full) {
		t.Errorf("a reader that ends: %v", err)
	}
}
