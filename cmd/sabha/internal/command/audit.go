package command

import (
	"fmt"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	"sabha.dev/cmd/sabha/internal/render"
)

func (r *run) audit() *cobra.Command {
	c := &cobra.Command{Use: "audit", Short: "See who called whom for a request", Args: cobra.NoArgs}
	c.AddCommand(r.auditShow())
	return group(c)
}

func (r *run) auditShow() *cobra.Command {
	var json bool
	c := &cobra.Command{
		Use: "show TASK", Short: "Show every hop of the request that a task belongs to, in order",
		Long: `Show lists every call between agents that was made for a request: when it began and how
long it took, who called whom, with which version of A2A, how it ended, and what admission
decided. It needs a key of an auditor or operator, such as the one that sabha up printed.`,
		Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := r.dial(cmd.Context())
			if err != nil {
				return err
			}
			defer func() { _ = c.Close() }()
			hops, err := c.Hops(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if len(hops) == 0 {
				return &failure{ExitNotFound, fmt.Sprintf("no hop of task %q is recorded", args[0]), "List tasks with: sabha task list"}
			}
			if json {
				for _, h := range hops {
					if err := r.sayJSON(h); err != nil {
						return err
					}
				}
				return nil
			}
			return r.say(r.style().Hops(hops)...)
		},
	}
	c.Flags().BoolVar(&json, "json", false, "print each hop as a line of JSON")
	return r.calls(c)
}

func (a *App) sayJSON(m proto.Message) error {
	l, err := render.JSON(m)
	if err != nil {
		return err
	}
	return a.say(l)
}
