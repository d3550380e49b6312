package model

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// Limits are the most that models may use for one task.
type Limits struct {
	Tokens int64   // of prompts and answers together; 0 for no limit
	Cost   float64 // in the currency of the prices; 0 for no limit
}

// Prices are what a model costs for a million tokens. The zero value costs nothing.
type Prices struct {
	Input, Output float64
	Currency      string // such as USD
}

func (p Prices) cost(input, output int64) float64 {
	return (float64(input)*p.Input + float64(output)*p.Output) / 1e6
}

// Usage is what models have used for a task.
type Usage struct {
	Calls        int64
	InputTokens  int64
	OutputTokens int64
	Cost         float64
	Currency     string
}

// Spend counts what models use for one task. It is safe for concurrent use.
type Spend struct {
	mu   sync.Mutex
	used Usage
	// held is what calls that are under way may use.
	held Usage
}

// NewSpend continues a count.
func NewSpend(used Usage) *Spend { return &Spend{used: used} }

// Used is what has been used so far.
func (s *Spend) Used() Usage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used
}

type spendKey struct{}

// WithSpend has the calls of a metered model under ctx count for a task.
func WithSpend(ctx context.Context, s *Spend) context.Context {
	return context.WithValue(ctx, spendKey{}, s)
}

// Metered gives a model whose calls under [WithSpend] are counted, and refused with ErrSpent
// when they would go over the limits. Other calls pass. A nil model stays nil.
func Metered(m Model, limits Limits, prices Prices) Model {
	if m == nil {
		return nil
	}
	return &metered{Model: m, limits: limits, prices: prices}
}

type metered struct {
	Model
	limits Limits
	prices Prices
}

// Sizes of a call that are not known before it is made.
const (
	bytesPerToken = 3    // fewer than any common tokeniser has for English, so the estimate is high
	answerTokens  = 4096 // of an answer that the request does not bound
	leastAnswer   = 64   // tokens that an answer needs to be worth asking for
)

func (m *metered) Complete(ctx context.Context, req Request) (Response, error) {
	s, _ := ctx.Value(spendKey{}).(*Spend)
	if s == nil {
		return m.Model.Complete(ctx, req)
	}
	input := int64(len(req.System)+len(req.Prompt))/bytesPerToken + 1
	output, err := s.hold(m, input, int64(req.MaxTokens))
	if err != nil {
		return Response{}, err
	}
	req.MaxTokens = int(output)
	resp, err := m.Model.Complete(ctx, req)
	s.settle(m.prices, input, output, resp, err)
	return resp, err
}

// hold sets aside what a call may use, and gives how long its answer may be.
func (s *Spend) hold(m *metered, input, wanted int64) (output int64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	output = wanted
	if output == 0 {
		output = answerTokens
	}
	if m.limits.Tokens > 0 {
		left := m.limits.Tokens - s.used.InputTokens - s.used.OutputTokens - s.held.InputTokens - s.held.OutputTokens - input
		if output = min(output, left); output < leastAnswer {
			return 0, fmt.Errorf("%w: %d of %d tokens", ErrSpent, s.used.InputTokens+s.used.OutputTokens, m.limits.Tokens)
		}
	}
	if m.limits.Cost > 0 {
		left := m.limits.Cost - s.used.Cost - s.held.Cost - m.prices.cost(input, 0)
		if m.prices.Output > 0 {
			output = min(output, int64(left/m.prices.Output*1e6))
		}
		if left < 0 || output < leastAnswer {
			return 0, fmt.Errorf("%w: %.4f of %.4f %s", ErrSpent, s.used.Cost, m.limits.Cost, m.prices.Currency)
		}
	}
	s.held.InputTokens, s.held.OutputTokens = s.held.InputTokens+input, s.held.OutputTokens+output
	s.held.Cost += m.prices.cost(input, output)
	return output, nil
}

// settle puts what a call has used in the place of what was set aside for it. An endpoint
// that does not say what it used is taken to have used what its texts amount to; one that
// did not take the request, nothing.
func (s *Spend) settle(prices Prices, input, output int64, resp Response, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held.InputTokens, s.held.OutputTokens = s.held.InputTokens-input, s.held.OutputTokens-output
	s.held.Cost -= prices.cost(input, output)
	switch {
	case errors.Is(err, ErrNoAnswer):
		resp.InputTokens = input // it was read, whatever came of it
	case err != nil:
		return
	}
	if resp.InputTokens == 0 && resp.OutputTokens == 0 {
		resp.InputTokens, resp.OutputTokens = input, int64(len(resp.Text))/bytesPerToken+1
	}
	s.used.Calls++
	s.used.InputTokens += resp.InputTokens
	s.used.OutputTokens += resp.OutputTokens
	s.used.Cost += prices.cost(resp.InputTokens, resp.OutputTokens)
	s.used.Currency = prices.Currency
}
