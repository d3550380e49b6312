package command

import (
	"context"

	"github.com/spf13/cobra"

	"sabha.dev/cmd/sabha/internal/client"
)

func (r *run) taskRetry() *cobra.Command {
	c := &cobra.Command{
		Use: "retry TASK STEP", Short: "Have a step that waits for its next try run now", Args: exactly(2),
		Long: `Retry ends the wait of a step that has failed and is to be tried again. A step that is at work,
or has ended, is left alone. It needs a key of an operator, and is recorded with it.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return r.withPlatform(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				if err := c.Retry(ctx, args[0], args[1]); err != nil {
					return err
				}
				return r.say("Step " + args[1] + " of task " + args[0] + " is tried again now.")
			})
		},
	}
	return r.calls(c)
}

func (r *run) taskFork() *cobra.Command {
	c := &cobra.Command{
		Use: "fork TASK STEP", Short: "Begin a task that has ended again at a step, as a new task", Args: exactly(2),
		Long: `Fork makes a new task of the same request, with the playbook's version of then. The outputs of
the steps before STEP are kept, except for what was undone. The new task belongs to whoever made
the request. It needs a key of an operator, and is recorded with it.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return r.withPlatform(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				id, err := c.Fork(ctx, args[0], args[1])
				if err != nil {
					return err
				}
				return r.say("Task "+args[0]+" begins again at step "+args[1]+".", "The new task is "+id)
			})
		},
	}
	return r.calls(c)
}
