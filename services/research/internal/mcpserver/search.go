package mcpserver

import (
	"context"
	"encoding/json"

	"sabha.dev/chassis/tool"
	"sabha.dev/services/research/internal/answer"
	"sabha.dev/services/research/internal/retrieval"
)

// SearchTool is the name of the search over MCP.
const SearchTool = "kalki_vector_search"

const searchInput = `{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "properties": {
    "query": {"type": "string", "minLength": 1, "maxLength": 4096, "pattern": "\\S", "description": "What to look for, in plain words."},
    "top_k": {"type": "integer", "minimum": 1, "maximum": 50, "default": 5, "description": "The most passages to return."},
    "min_confidence": {"type": "number", "minimum": 0, "maximum": 1, "default": 0, "description": "Leave out passages below this confidence."}
  },
  "required": ["query"],
  "additionalProperties": false
}`

const searchOutput = `{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "properties": {
    "query": {"type": "string"},
    "embedding": {"type": "string", "description": "What the vectors are made with."},
    "results": {
      "type": "array",
      "description": "Passages, best first; empty when no document is about the query.",
      "items": {
        "type": "object",
        "properties": {
          "document": {"type": "string"},
          "title": {"type": "string"},
          "digest": {"type": "string", "description": "Of the document's bytes that start and end point into."},
          "heading_path": {"type": "array", "items": {"type": "string"}},
          "start": {"type": "integer", "minimum": 0, "description": "Byte offset."},
          "end": {"type": "integer", "minimum": 1, "description": "Byte offset, excluded."},
          "text": {"type": "string"},
          "score": {"type": "number", "description": "Of the fused ranking."},
          "confidence": {"type": "number", "minimum": 0, "maximum": 1}
        },
        "required": ["document", "title", "digest", "heading_path", "start", "end", "text", "score", "confidence"],
        "additionalProperties": false
      }
    }
  },
  "required": ["query", "results", "embedding"],
  "additionalProperties": false
}`

// Engine finds passages.
type Engine interface {
	Search(ctx context.Context, q retrieval.Query) ([]retrieval.Result, error)
	// Embedding names what the vectors are made with.
	Embedding() string
}

func definition() tool.Definition {
	return tool.Definition{
		Name:  SearchTool,
		Title: "Search the documents",
		Description: "Finds passages by words and by vectors, each with its document, headings, byte offsets and a confidence. " +
			"An empty list means that no document is about the query.",
		Input: json.RawMessage(searchInput), Output: json.RawMessage(searchOutput),
		Effects: tool.Effects{ReadOnly: true, Idempotent: true},
	}
}

func searchWith(engine Engine) tool.Func {
	return func(ctx context.Context, r tool.Request) (tool.Answer, error) {
		in := struct {
			Query         string  `json:"query"`
			TopK          float64 `json:"top_k"` // 5.0 is an integer too
			MinConfidence float64 `json:"min_confidence"`
		}{TopK: 5}
		if err := json.Unmarshal(r.Arguments, &in); err != nil {
			return tool.Answer{}, err
		}
		q := retrieval.Query{Text: in.Query, Limit: int(in.TopK), MinConfidence: in.MinConfidence}
		results, err := engine.Search(ctx, q)
		if err != nil {
			return tool.Answer{}, err
		}
		a := answer.New(q, engine.Embedding(), results)
		return tool.Answer{Sentence: a.Sentence(), Structured: a}, nil
	}
}
