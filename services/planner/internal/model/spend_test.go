package model

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
)

// uses is a model that answers with given usage.
type uses struct {
	resp  Response
	err   error
	mu    sync.Mutex
	asked []Request
}

func (u *uses) Complete(_ context.Context, req Request) (Response, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.asked = append(u.asked, req)
	return u.resp, u.err
}

var dollars = Prices{Input: 1, Output: 10, Currency: "USD"}

func TestWhatModelsUseIsCountedAndBounded(t *testing.T) {
	u := &uses{resp: Response{Text: "x", InputTokens: 300, OutputTokens: 400}}
	m := Metered(u, Limits{Tokens: 1000}, dollars)
	s := NewSpend(Usage{})
	ctx := WithSpend(t.Context(), s)
	if _, err := m.Complete(ctx, Request{Prompt: strings.Repeat("x", 297), MaxTokens: 500}); err != nil || u.asked[0].MaxTokens != 500 {
		t.Errorf("%v, asked for %d tokens", err, u.asked[0].MaxTokens)
	}
	if got, want := s.Used(), (Usage{Calls: 1, InputTokens: 300, OutputTokens: 400, Cost: 0.0043, Currency: "USD"}); got != want {
		t.Errorf("used %+v, want %+v", got, want)
	}
	// The next answer may have what is left; the one after that is not asked for.
	u.resp = Response{Text: "y", InputTokens: 100, OutputTokens: 150}
	if _, err := m.Complete(ctx, Request{Prompt: strings.Repeat("x", 297), MaxTokens: 500}); err != nil || u.asked[1].MaxTokens != 200 {
		t.Errorf("%v, asked for %d tokens", err, u.asked[1].MaxTokens)
	}
	_, err := m.Complete(ctx, Request{Prompt: "x"})
	if !errors.Is(err, ErrSpent) || err.Error() != "what models may use for one task is spent: 950 of 1000 tokens" || len(u.asked) != 2 {
		t.Errorf("%v after %d calls", err, len(u.asked))
	}
	if _, err := m.Complete(t.Context(), Request{Prompt: "x"}); err != nil {
		t.Errorf("a call for no task: %v", err)
	}
}

func TestWhatModelsCostIsBounded(t *testing.T) {
	u := &uses{resp: Response{Text: "x", InputTokens: 1000, OutputTokens: 900}}
	m := Metered(u, Limits{Cost: 0.01}, dollars)
	s := NewSpend(Usage{Cost: 0.0005, Currency: "USD"})
	ctx := WithSpend(t.Context(), s)
	// 0.0095 are left: 1000 tokens of a prompt and 850 of an answer.
	if _, err := m.Complete(ctx, Request{Prompt: strings.Repeat("x", 2997), MaxTokens: 4000}); err != nil || u.asked[0].MaxTokens != 850 {
		t.Errorf("%v, asked for %d tokens", err, u.asked[0].MaxTokens)
	}
	if _, err := m.Complete(ctx, Request{Prompt: "x"}); !errors.Is(err, ErrSpent) || err.Error() != "what models may use for one task is spent: 0.0105 of 0.0100 USD" {
		t.Error(err)
	}
}

func TestCallsThatFailCostWhatTheyReached(t *testing.T) {
	for _, c := range []struct {
		err  error
		want Usage
	}{
		{ErrUnavailable, Usage{}},
		{ErrRejected, Usage{}},
		{ErrNoAnswer, Usage{Calls: 1, InputTokens: 2}},
		{nil, Usage{Calls: 1, InputTokens: 2, OutputTokens: 3}}, // an endpoint that counts nothing
	} {
		u := &uses{err: c.err}
		if c.err == nil {
			u.resp.Text = "sevenly"
		}
		s := NewSpend(Usage{})
		_, err := Metered(u, Limits{Tokens: 1000}, Prices{}).Complete(WithSpend(t.Context(), s), Request{Prompt: "three"})
		if !errors.Is(err, c.err) || s.Used() != c.want {
			t.Errorf("%v: used %+v, want %+v", c.err, s.Used(), c.want)
		}
	}
}

func TestCallsAtOnceDoNotGoOverTogether(t *testing.T) {
	u := &uses{resp: Response{Text: "x", InputTokens: 1, OutputTokens: 99}}
	m := Metered(u, Limits{Tokens: 1000}, Prices{})
	s := NewSpend(Usage{})
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			if _, err := m.Complete(WithSpend(t.Context(), s), Request{Prompt: "x", MaxTokens: 99}); err != nil && !errors.Is(err, ErrSpent) {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if used := s.Used(); used.InputTokens+used.OutputTokens > 1000 || used.Calls < 5 {
		t.Errorf("used %+v", used)
	}
}
