package command

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"sabha.dev/cmd/sabha/internal/client"
	adminv1 "sabha.dev/gen/sabha/admin/v1"
)

func (r *run) push() *cobra.Command {
	c := &cobra.Command{Use: "push", Short: "See notifications that were given up, and send them again", Args: cobra.NoArgs}
	c.AddCommand(r.pushList(), r.pushResend())
	return group(c)
}

func (r *run) pushList() *cobra.Command {
	var (
		service string
		json    bool
	)
	c := &cobra.Command{
		Use: "list", Short: "List webhooks that were given up with events undelivered, the newest first", Args: exactly(0),
		Long: `List shows the push configurations of all callers that failed too often, or whose receiver
wants no more: where they lead, why they were given up, and how far they came. At most 100 of
each service are shown. It needs a key of an auditor or operator.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return r.withPlatform(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				list, err := c.DeadPushes(ctx, service)
				if err != nil {
					return err
				}
				if json {
					for _, p := range list {
						if err := r.sayJSON(p); err != nil {
							return err
						}
					}
					return nil
				}
				if len(list) == 0 {
					return r.say("No webhook was given up.")
				}
				return r.say(r.style().DeadPushes(list)...)
			})
		},
	}
	c.Flags().StringVar(&service, "service", "", "only tasks of this service")
	c.Flags().BoolVar(&json, "json", false, "print each as a line of JSON")
	return r.calls(c)
}

func (r *run) pushResend() *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use: "resend TASK [CONFIG] | --all", Short: "Send to webhooks again that were given up",
		Long: `Resend enables webhooks that were given up: those of a task, one of them, or all that list
shows. Each receives the task as it is now, and what happens next. It needs a key of an operator.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if all != (len(args) == 0) || len(args) > 2 {
				return usagef("name a task, or give --all; write: %s", cmd.UseLine())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return r.withPlatform(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				list, err := c.DeadPushes(ctx, "")
				if err != nil {
					return err
				}
				sent := 0
				for _, p := range list {
					if !chosen(p, args) {
						continue
					}
					if err := c.Resend(ctx, p); err != nil {
						return err
					}
					sent++
				}
				if sent == 0 && !all {
					return &failure{ExitNotFound, fmt.Sprintf("no webhook of task %q was given up", args[0]), "List them with: sabha push list"}
				}
				return r.say(fmt.Sprintf("%d sent again.", sent))
			})
		},
	}
	c.Flags().BoolVar(&all, "all", false, "all that were given up")
	return r.calls(c)
}

// chosen tells whether arguments name a webhook; without any, every one is.
func chosen(p *adminv1.DeadPush, args []string) bool {
	switch len(args) {
	case 0:
		return true
	case 1:
		return p.GetTaskId() == args[0]
	}
	return p.GetTaskId() == args[0] && p.GetConfigId() == args[1]
}

// withPlatform calls f with a connection to the platform.
func (r *run) withPlatform(ctx context.Context, f func(context.Context, *client.Client) error) error {
	c, err := r.dial(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	return f(ctx, c)
}
