package command

import (
	"context"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/timestamppb"

	"sabha.dev/cmd/sabha/internal/client"
	partnersv1 "sabha.dev/gen/sabha/partners/v1"
)

func (r *run) partnerCrossings() *cobra.Command {
	var (
		req      partnersv1.ListCrossingsRequest
		since    time.Duration
		jsonLine bool
	)
	c := &cobra.Command{
		Use: "crossings [PARTNER]", Short: "List what left for partners and what came from them, the newest first", Args: cobra.MaximumNArgs(1),
		Long: "Crossings tells of each message over the boundary how much it was, what was found in it, where, and what was done about it; never a value. It needs the key of an operator, auditor or admin.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				req.Partner = args[0]
			}
			if since > 0 {
				req.Since = timestamppb.New(r.Clock.Now().Add(-since))
			}
			return r.withPlatform(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				res, err := c.Crossings(ctx, &req)
				if err != nil {
					return err
				}
				if !jsonLine {
					return r.say(r.style().Crossings(res.GetCrossings())...)
				}
				for _, x := range res.GetCrossings() {
					if err := r.sayJSON(x); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
	f := c.Flags()
	f.StringVar(&req.TaskId, "task", "", "only those of this request")
	f.StringVar(&req.Class, "class", "", "only those in which something of this class was found, such as email")
	f.DurationVar(&since, "since", 0, "only those within this time, such as 24h")
	f.Int32Var(&req.PageSize, "limit", 50, "how many at most, 1 to 200")
	f.BoolVar(&jsonLine, "json", false, "print each as a line of JSON")
	return r.calls(c)
}
