package planner

import (
	"cmp"
	"errors"
	"time"

	"sabha.dev/chassis/outlet"
	"sabha.dev/playbooks"
	"sabha.dev/services/planner/internal/draft"
	"sabha.dev/services/planner/internal/model"
	"sabha.dev/services/planner/internal/plan"
	"sabha.dev/services/planner/playbook"
)

// Model is an endpoint of a language model, and what may be asked of it.
type Model struct {
	// Provider is openai (chat completions, which local servers speak too) or anthropic;
	// empty means openai.
	Provider string `yaml:"provider"`
	BaseURL  string `yaml:"base_url"`
	Name     string `yaml:"name"`
	// KeyFile holds the API key; empty for an endpoint that asks for none.
	KeyFile string        `yaml:"key_file"`
	Timeout time.Duration `yaml:"timeout"`
	// Disclosure says what may leave to it.
	Disclosure outlet.Policy `yaml:"disclosure"`
	// Tokens is the most that one task may use, prompts and answers together; 0 means
	// DefaultTokens.
	Tokens int64 `yaml:"tokens"`
	// Cost is the most that one task may cost, in the currency of Prices; 0 for no limit.
	Cost   float64 `yaml:"cost"`
	Prices Prices  `yaml:"prices"`
	// Skills that a drafted plan may use, AGENT/SKILL, with what a model is told of them.
	// Without the key they are those that only read; an empty map has no plans drafted.
	Skills map[string]string `yaml:"skills"`
}

// Prices are for a million tokens.
type Prices struct {
	Input    float64 `yaml:"input"`
	Output   float64 `yaml:"output"`
	Currency string  `yaml:"currency"`
}

// DefaultTokens of one task.
const DefaultTokens = 100_000

func (m Model) open(out *outlet.Outlet) (model.Model, error) {
	switch {
	case m.Tokens < 0 || m.Cost < 0 || m.Prices.Input < 0 || m.Prices.Output < 0:
		return nil, errors.New("model: tokens, cost and prices must not be negative")
	case m.Cost > 0 && (m.Prices.Input == 0 && m.Prices.Output == 0 || m.Prices.Currency == ""):
		return nil, errors.New("model: cost needs prices: input and output for a million tokens, and their currency")
	}
	opened, err := model.Open(model.Config{Provider: model.Provider(m.Provider), BaseURL: m.BaseURL, Name: m.Name, KeyFile: m.KeyFile, Timeout: m.Timeout, Outlet: out})
	if opened == nil || err != nil {
		return nil, err
	}
	limits := model.Limits{Tokens: cmp.Or(m.Tokens, DefaultTokens), Cost: m.Cost}
	return model.Metered(opened, limits, model.Prices{Input: m.Prices.Input, Output: m.Prices.Output, Currency: m.Prices.Currency}), nil
}

// drafter plans by a model; nil without one, and where no skill may be used.
func (m Model) drafter(opened model.Model, installed *playbook.Library, catalog playbook.Catalog) (plan.Drafter, error) {
	if opened == nil || m.Skills != nil && len(m.Skills) == 0 {
		return nil, nil
	}
	skills, err := draft.Skills(m.Skills)
	if err != nil {
		return nil, err
	}
	general, err := installed.Find(playbooks.General)
	if err != nil {
		return nil, err
	}
	return draft.New(opened, general, catalog, skills)
}
