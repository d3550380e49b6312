package ask_test

import (
	"context"
	"errors"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/ask"
)

// deployer is an executor that has a partner deploy.
type deployer struct{ peers ask.Peers }

// run asks once, however often it is called: the same question has the same answer.
func (d deployer) run(ctx context.Context, run agent.Run) (agent.Outcome, error) {
	parts, err := d.peers.Ask(ctx, run, "partners", "vercel/deploy", map[string]any{"text": "Deploy my-app", "environment": "production"})
	var paused *ask.Paused
	switch {
	case errors.As(err, &paused):
		return paused.Outcome(), nil // the partner asks, or a person has to allow the call
	case err != nil:
		return agent.Outcome{}, err
	}
	return agent.Completed(parts...), nil
}

func Example() {
	_ = agent.Skill{ID: "deploy", Name: "Deploy", Run: deployer{}.run} // with ask.Peers(base.Peer)
}
