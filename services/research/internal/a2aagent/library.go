package a2aagent

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/label"
	"sabha.dev/chassis/tool"
	"sabha.dev/services/research/internal/answer"
	"sabha.dev/services/research/internal/library"
	"sabha.dev/services/research/internal/retrieval"
)

// Skills of those who read the documents without asking a question, and of those who ask
// as clients of KALKI do.
const (
	Fetch        = "fetch"
	Changes      = "changes"
	VectorSearch = "vector-search"
)

// Library has the documents of the collection that is searched.
type Library interface {
	// Document gives one by its name, nil if there is none.
	Document(ctx context.Context, name string) (*library.Document, error)
	// Changes lists at most so many that were added or changed after a place.
	Changes(ctx context.Context, after library.Cursor, limit int) ([]library.Change, error)
}

const (
	fetchInput = `{
  "type": "object",
  "properties": {"id": {"type": "string", "minLength": 1, "maxLength": 1024, "description": "Name of the document in the collection."}},
  "required": ["id"],
  "additionalProperties": false
}`
	changesInput = `{
  "type": "object",
  "properties": {
    "cursor": {"type": "string", "maxLength": 2048, "description": "Where an earlier answer ended; none is the beginning."},
    "limit": {"type": "integer", "minimum": 1, "maximum": 100, "default": 20}
  },
  "additionalProperties": false
}`
	vectorSearchInput = `{
  "type": "object",
  "properties": {
    "query": {"type": "string", "minLength": 1, "maxLength": 4096, "pattern": "\\S"},
    "top_k": {"type": "integer", "minimum": 1, "maximum": 50, "default": 5},
    "min_confidence": {"type": "number", "minimum": 0, "maximum": 1, "default": 0}
  },
  "required": ["query"],
  "additionalProperties": false
}`
)

// WithLibrary adds the skills that read the documents.
func WithLibrary(a agent.Agent, documents Library, engine Engine) agent.Agent {
	a.Skills = append(a.Skills,
		agent.Skill{
			ID: Fetch, Name: "Fetch", Input: fetchInput, Anonymous: true,
			Description: "Gives one document with its passages in their order. Data part {id}.",
			Tags:        []string{"retrieval"}, Examples: []string{`{"id":"runbooks/retry.md"}`},
			Answer: answering(fetchInput, func(ctx context.Context, in struct {
				ID string `json:"id"`
			},
			) (string, any, label.Labels, error) {
				return fetch(ctx, documents, in.ID)
			}),
		},
		agent.Skill{
			ID: Changes, Name: "Changes", Input: changesInput, Anonymous: true,
			Description: "Lists documents that were added or changed, the oldest change first, after a cursor. Data part {cursor?, limit?}; answers {changes, cursor, more}. " +
				"A document that was removed is in no list; fetch says that it is not there.",
			Tags: []string{"retrieval"}, Examples: []string{`{"limit":20}`},
			Answer: answering(changesInput, func(ctx context.Context, in struct {
				Cursor string  `json:"cursor"`
				Limit  float64 `json:"limit"` // 5.0 is an integer too
			},
			) (string, any, label.Labels, error) {
				return changes(ctx, documents, in.Cursor, int(in.Limit))
			}),
		},
		agent.Skill{
			ID: VectorSearch, Name: "Vector search", Input: vectorSearchInput, Anonymous: true,
			Description: "The search of KALKI's MCP tool: up to fifty passages. Data part {query, top_k?, min_confidence?}.",
			Tags:        []string{"search", "retrieval"}, Examples: []string{`{"query":"quantum encryption standards","top_k":5,"min_confidence":0.82}`},
			Answer: answering(vectorSearchInput, func(ctx context.Context, in struct {
				Query         string   `json:"query"`
				TopK          *float64 `json:"top_k"`
				MinConfidence float64  `json:"min_confidence"`
			},
			) (string, any, label.Labels, error) {
				q := retrieval.Query{Text: in.Query, Limit: searchDefault, MinConfidence: in.MinConfidence}
				if in.TopK != nil {
					q.Limit = int(*in.TopK)
				}
				results, err := engine.Search(ctx, q)
				if err != nil {
					return "", nil, label.Labels{}, err
				}
				found := answer.New(q, engine.Embedding(), results)
				return found.Sentence(), found, found.Labels(), nil
			}),
		})
	return a
}

// answering makes the answer of a skill that takes data of a schema: a sentence, and data.
func answering[In any](schema string, answer func(context.Context, In) (string, any, label.Labels, error)) func(context.Context, *agent.Request) (*a2apb.Message, error) {
	contract, bad := tool.New(tool.Definition{Name: "input", Input: json.RawMessage(schema)})
	return func(ctx context.Context, r *agent.Request) (*a2apb.Message, error) {
		if bad != nil {
			return nil, bad
		}
		var in In
		if err := readData(contract, r.Message, &in); err != nil {
			return nil, err
		}
		sentence, found, labels, err := answer(ctx, in)
		if err != nil {
			return nil, err
		}
		data, err := agent.Data(found)
		if err != nil {
			return nil, err
		}
		return agent.Message(labels.Put(agent.Text(sentence)), labels.Put(data)), nil
	}
}

// readData reads the first data part of a message; none is an empty object.
func readData(contract *tool.Contract, m *a2apb.Message, into any) error {
	raw := []byte("{}")
	if data := agent.DataOf(m.GetParts()); data != nil {
		var err error
		if raw, err = data.MarshalJSON(); err != nil {
			return fault.Invalid("message.parts", "hold data that cannot be read").Because(err)
		}
	}
	if _, err := contract.Arguments(raw); err != nil {
		return fault.Invalid("message.parts", "do not hold the data that the skill takes: %s", err)
	}
	return json.Unmarshal(raw, into)
}

func fetch(ctx context.Context, documents Library, id string) (string, any, label.Labels, error) {
	d, err := documents.Document(ctx, id)
	if err != nil {
		return "", nil, label.Labels{}, err
	}
	if d == nil {
		return "", nil, label.Labels{}, fault.Invalid("id", "%q is no document here; search and changes name those that are", id)
	}
	// What documents say about who may see them counts here as in a search.
	labels := answer.New(retrieval.Query{}, "", []retrieval.Result{{Confidentiality: d.Metadata["confidentiality"]}}).Labels()
	return fmt.Sprintf("%s, %d passages.", d.Title, len(d.Passages)), d, labels, nil
}

// changesDefault is how many are told when nobody says.
const changesDefault = 20

func changes(ctx context.Context, documents Library, cursor string, limit int) (string, any, label.Labels, error) {
	labels := label.Labels{Integrity: label.Untrusted} // titles are the documents' own
	after, err := library.ParseCursor(cursor)
	if err != nil {
		return "", nil, labels, err
	}
	if limit == 0 {
		limit = changesDefault
	}
	found, err := documents.Changes(ctx, after, limit+1)
	if err != nil {
		return "", nil, labels, err
	}
	more := len(found) > limit
	if more {
		found = found[:limit]
	}
	if len(found) > 0 {
		after = found[len(found)-1].At
		cursor = after.String()
	}
	told := struct {
		Changes []library.Change `json:"changes"`
		Cursor  string           `json:"cursor"`
		More    bool             `json:"more"`
	}{found, cursor, more}
	return fmt.Sprintf("%d documents were added or changed.", len(found)), told, labels, nil
}
