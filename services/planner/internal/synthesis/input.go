package synthesis

import (
	"fmt"
	"math"
	"strings"
)

// ParseRequest reads the inputs of a synthesise step. Passages are objects as research gives them;
// memories are objects with a text, and become passages behind the others. The error names the input.
func ParseRequest(inputs map[string]any) (Request, error) {
	req := Request{MaxSentences: DefaultMaxSentences, MinRelevance: DefaultMinRelevance}
	var err error
	if req.Question, err = text(inputs, "question"); err != nil {
		return Request{}, err
	}
	if strings.TrimSpace(req.Question) == "" {
		return Request{}, fmt.Errorf("question is empty")
	}
	if req.Feedback, err = texts(inputs["feedback"]); err != nil {
		return Request{}, fmt.Errorf("feedback %w", err)
	}
	if v, ok := inputs["max_sentences"]; ok {
		n, isNumber := v.(float64)
		if !isNumber || n != math.Trunc(n) || n < 1 || n > MostSentences {
			return Request{}, fmt.Errorf("max_sentences must be a whole number from 1 to %d", MostSentences)
		}
		req.MaxSentences = int(n)
	}
	if v, ok := inputs["min_relevance"]; ok {
		r, isNumber := v.(float64)
		if !isNumber || !(r >= 0 && r <= 1) {
			return Request{}, fmt.Errorf("min_relevance must be a number from 0 to 1")
		}
		req.MinRelevance = r
	}
	if err := req.passages(inputs, "passages"); err != nil {
		return Request{}, err
	}
	if err := req.passages(inputs, "memories"); err != nil {
		return Request{}, err
	}
	return req, nil
}

// passages appends the passages of one input. Ids that are missing or taken are made up.
func (r *Request) passages(inputs map[string]any, name string) error {
	if inputs[name] == nil {
		return nil
	}
	list, ok := inputs[name].([]any)
	if !ok {
		return fmt.Errorf("%s must be a list", name)
	}
	if len(r.Passages)+len(list) > MostPassages {
		return fmt.Errorf("%s: there are more than %d passages", name, MostPassages)
	}
	taken := map[string]bool{}
	for _, p := range r.Passages {
		taken[p.ID] = true
	}
	for i, v := range list {
		m, ok := v.(map[string]any)
		if !ok {
			return fmt.Errorf("%s[%d] must be an object", name, i)
		}
		p, err := passage(m)
		if err != nil {
			return fmt.Errorf("%s[%d].%w", name, i, err)
		}
		if name == "memories" && p.Document == "" {
			p.Document = "memory"
		}
		for n := len(r.Passages) + 1; p.ID == "" || taken[p.ID]; n++ {
			p.ID = fmt.Sprintf("p%d", n)
		}
		taken[p.ID] = true
		r.Passages = append(r.Passages, p)
	}
	return nil
}

func passage(m map[string]any) (Passage, error) {
	p := Passage{Confidence: -1}
	for _, f := range []struct {
		name string
		to   *string
	}{{"id", &p.ID}, {"document", &p.Document}, {"title", &p.Title}, {"text", &p.Text}} {
		v, err := text(m, f.name)
		if err != nil {
			return p, err
		}
		*f.to = v
	}
	for _, f := range []struct {
		name string
		to   *int
	}{{"start", &p.Start}, {"end", &p.End}} {
		if v, ok := m[f.name]; ok {
			n, isNumber := v.(float64)
			if !isNumber || n != math.Trunc(n) || n < 0 || n > 1<<53 {
				return p, fmt.Errorf("%s must be a byte offset", f.name)
			}
			*f.to = int(n)
		}
	}
	if c, ok := m["confidence"].(float64); ok && c >= 0 && c <= 1 {
		p.Confidence = c
	}
	var err error
	if p.HeadingPath, err = texts(m["heading_path"]); err != nil {
		return p, fmt.Errorf("heading_path %w", err)
	}
	return p, nil
}

func text(m map[string]any, name string) (string, error) {
	switch v := m[name].(type) {
	case nil:
		return "", nil
	case string:
		return v, nil
	}
	return "", fmt.Errorf("%s must be text", name)
}

func texts(v any) ([]string, error) {
	switch v := v.(type) {
	case nil:
		return nil, nil
	case string:
		if v == "" {
			return nil, nil
		}
		return []string{v}, nil
	case []any:
		out := make([]string, 0, len(v))
		for _, x := range v {
			s, ok := x.(string)
			if !ok {
				return nil, fmt.Errorf("must be a list of texts")
			}
			out = append(out, s)
		}
		return out, nil
	}
	return nil, fmt.Errorf("must be a list of texts")
}
