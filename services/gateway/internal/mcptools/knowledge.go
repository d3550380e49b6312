package mcptools

import (
	"context"
	"encoding/json"
	"slices"

	"sabha.dev/chassis/tool"
)

// Names of the tools that everybody is offered, as Knowledge for Agents has them, and of
// the one that KALKI's clients call.
const (
	Search       = "search"
	Fetch        = "fetch"
	GetChanges   = "get_changes"
	Whoami       = "whoami"
	VectorSearch = "kalki_vector_search"
)

// research is the agent that has the documents.
const research = "research"

func reserved(name string) bool {
	return slices.Contains([]string{Search, Fetch, GetChanges, Whoami, VectorSearch, taskGet, taskReply, taskCancel}, name)
}

// knowing are the tools over the documents, each with the skill of research behind it.
var knowing = []struct {
	skill string
	tool.Definition
}{
	{"search", tool.Definition{
		Name: Search, Title: "Search the documents",
		Description: "Finds up to five passages by words and by vectors, each with its document, headings, byte offsets and a confidence. An empty list means that no document is about the query.",
		Input: json.RawMessage(`{
  "type": "object",
  "properties": {
    "query": {"type": "string", "minLength": 1, "maxLength": 4096, "pattern": "\\S", "description": "What to look for, in plain words. No secrets and no personal data."},
    "limit": {"type": "integer", "minimum": 1, "maximum": 5, "default": 5, "description": "The most passages to return."},
    "kind": {"type": "string"}, "product": {"type": "string"}, "environment": {"type": "string"},
    "min_confidence": {"type": "number", "minimum": 0, "maximum": 1}
  },
  "required": ["query"],
  "additionalProperties": false
}`),
	}},
	{"fetch", tool.Definition{
		Name: Fetch, Title: "Read a document", Description: "Gives a document, passage by passage, with its title, digest and metadata.",
		Input: json.RawMessage(`{
  "type": "object",
  "properties": {
    "id": {"type": "string", "minLength": 1, "maxLength": 1024, "description": "The document, as a passage that was found or a change names it."}
  },
  "required": ["id"],
  "additionalProperties": false
}`),
	}},
	{"changes", tool.Definition{
		Name: GetChanges, Title: "What has changed",
		Description: "Lists documents that were added or changed, oldest change first, after a cursor; without one, all of them. The answer has the cursor to go on after, and says whether there is more now.",
		Input: json.RawMessage(`{
  "type": "object",
  "properties": {
    "cursor": {"type": "string", "maxLength": 2048, "description": "Where an earlier answer ended."},
    "limit": {"type": "integer", "minimum": 1, "maximum": 100, "default": 20}
  },
  "additionalProperties": false
}`),
	}},
	{"vector-search", tool.Definition{
		Name: VectorSearch, Title: "Search the documents",
		Description: "Finds passages by words and by vectors, each with its document, headings, byte offsets and a confidence. " +
			"An empty list means that no document is about the query.",
		Input: json.RawMessage(`{
  "type": "object",
  "properties": {
    "query": {"type": "string", "minLength": 1, "maxLength": 4096, "pattern": "\\S", "description": "What to look for, in plain words."},
    "top_k": {"type": "integer", "minimum": 1, "maximum": 50, "default": 5, "description": "The most passages to return."},
    "min_confidence": {"type": "number", "minimum": 0, "maximum": 1, "default": 0, "description": "Leave out passages below this confidence."}
  },
  "required": ["query"],
  "additionalProperties": false
}`),
	}},
}

// knowledge is the tools over the documents for which there is a skill. Their structured
// result is the skill's data as it is.
func (s *Server) knowledge(skills []skill) []defined {
	var all []defined
	for _, k := range knowing {
		at := slices.IndexFunc(skills, func(one skill) bool { return one.agent == research && one.id == k.skill })
		if at < 0 {
			continue
		}
		behind := skills[at]
		behind.input = string(k.Input)
		definition := k.Definition
		definition.Output = json.RawMessage(`{"type":"object"}`)
		definition.Effects = tool.Effects{ReadOnly: true, Idempotent: true}
		all = append(all, defined{definition, s.callKnowledge(behind)})
	}
	return all
}

// callKnowledge asks the skill, and gives its data instead of the frame around it.
func (s *Server) callKnowledge(k skill) tool.Func {
	call := s.callSkill(k)
	return func(ctx context.Context, r tool.Request) (tool.Answer, error) {
		a, err := call(ctx, r)
		if got, ok := a.Structured.(result); ok && err == nil && got.Data != nil {
			a.Structured = got.Data
		}
		return a, err
	}
}

// whoami tells the caller who it is taken for.
var whoami = tool.Definition{
	Name: Whoami, Title: "Who am I", Description: "Tells as whom these calls are made: anonymous, or the subject, organisation and scopes of the credentials.",
	Input: json.RawMessage(`{"type": "object", "additionalProperties": false}`),
	Output: json.RawMessage(`{
  "type": "object",
  "properties": {
    "anonymous": {"type": "boolean"}, "subject": {"type": "string"}, "organisation": {"type": "string"},
    "scopes": {"type": "array", "items": {"type": "string"}}
  },
  "required": ["anonymous"]
}`),
	Effects: tool.Effects{ReadOnly: true, Idempotent: true},
}

func answerWhoami(ctx context.Context, _ tool.Request) (tool.Answer, error) {
	who := callerOf(ctx)
	if who.Anonymous() {
		return tool.Answer{Sentence: "You are not known: these calls carry no credentials.", Structured: map[string]any{"anonymous": true}}, nil
	}
	said := struct {
		Anonymous    bool     `json:"anonymous"`
		Subject      string   `json:"subject"`
		Organisation string   `json:"organisation,omitempty"`
		Scopes       []string `json:"scopes,omitempty"`
	}{false, who.Subject, who.Organisation, who.Scopes}
	return tool.Answer{Sentence: "You are " + who.Key() + ".", Structured: said}, nil
}
