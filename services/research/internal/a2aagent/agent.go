// Package a2aagent is research as an A2A agent: messages in, passages out.
package a2aagent

import (
	"context"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"

	"sabha.dev/chassis/agent"
	"sabha.dev/services/research/internal/answer"
	"sabha.dev/services/research/internal/retrieval"
)

// Skills of the agent.
const (
	Search      = "search"
	Investigate = "investigate"
)

// Bounds of the number of passages. The search bound is the one of the
// knowledge-search skill that clients know.
const (
	searchMost         = 5
	searchDefault      = 5
	investigateMost    = 20
	investigateDefault = 8
)

// Engine finds passages.
type Engine interface {
	Search(ctx context.Context, q retrieval.Query) ([]retrieval.Result, error)
	// Embedding names what the vectors are made with.
	Embedding() string
}

// New makes the agent.
func New(engine Engine, release string) agent.Agent {
	s := &skills{engine}
	return agent.Agent{
		Tenant:      "research",
		Name:        "Research",
		Description: "Finds passages in the ingested documents, each with its document, headings, byte offsets and a confidence.",
		Version:     release,
		Route:       route,
		Skills: []agent.Skill{
			{
				ID: Search, Name: "Search",
				Description: "Answers at once with up to five passages. Takes text, or data {action: search or research, query, limit 1-5, min_confidence, " +
					"since and until (days such as 2026-01-31), kind, product, environment, filters}. An empty list means that no document is about the query.",
				Tags:      []string{"search", "retrieval", "knowledge-search"},
				Examples:  []string{"How is a finished task cancelled?", `{"action":"search","query":"retry policy","limit":3,"kind":"runbook"}`},
				Anonymous: true,
				Answer:    s.search,
			},
			{
				ID: Investigate, Name: "Investigate",
				Description: "A task that searches for the whole question and for each sentence of it, reports its progress, and ends with one artifact " +
					"of up to twenty passages. Takes the same input as search.",
				Tags:     []string{"search", "retrieval", "research"},
				Examples: []string{"Who may shut down the portal? What has to be reported, and by when?"},
				ReadOnly: true, Run: s.investigate,
			},
		},
	}
}

// route takes a data part's action as the skill's name; search and research
// are one skill.
func route(req *a2apb.SendMessageRequest) string {
	data := agent.DataOf(req.GetMessage().GetParts())
	if data.GetStructValue().GetFields()["action"].GetStringValue() == Investigate {
		return Investigate
	}
	return Search
}

type skills struct{ engine Engine }

func (s *skills) search(ctx context.Context, req *agent.Request) (*a2apb.Message, error) {
	q, err := read(req.Message, searchDefault, searchMost)
	if err != nil {
		return nil, err
	}
	results, err := s.engine.Search(ctx, q.Query)
	if err != nil {
		return nil, q.locate(err)
	}
	parts, err := parts(answer.New(q.Query, s.engine.Embedding(), results))
	if err != nil {
		return nil, err
	}
	return agent.Message(parts...), nil
}

// parts are an answer as text and as data, labelled by the documents that it quotes.
func parts(a answer.Answer) ([]*a2apb.Part, error) {
	data, err := agent.Data(a)
	if err != nil {
		return nil, err
	}
	labels := a.Labels()
	return []*a2apb.Part{labels.Put(agent.Text(a.Text())), labels.Put(data)}, nil
}
