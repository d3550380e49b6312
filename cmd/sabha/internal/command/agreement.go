package command

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"sabha.dev/chassis/strictyaml"
	"sabha.dev/cmd/sabha/internal/client"
	"sabha.dev/cmd/sabha/internal/render"
	partnersv1 "sabha.dev/gen/sabha/partners/v1"
	"sabha.dev/services/partners"
)

func (r *run) agreement() *cobra.Command {
	c := &cobra.Command{Use: "agreement", Short: "Check operating agreements with partners, and see how they are kept", Args: cobra.NoArgs}
	c.AddCommand(r.agreementCheck(), r.agreementSLA())
	return group(c)
}

func (r *run) agreementCheck() *cobra.Command {
	return &cobra.Command{
		Use: "check FILE…", Short: "Check agreements, or folders of them, and say what is wrong, with line and path", Args: atLeastOne,
		Long: `Check agreements, or folders of them, and say what is wrong, with line and path. A
single file is read with the others of its folder, where its fallbacks are.`,
		RunE: func(_ *cobra.Command, args []string) error {
			bad := false
			for _, path := range args {
				err := partners.CheckAgreement(path, r.Clock.Now(), r.Out)
				var problems strictyaml.Problems
				switch {
				case errors.As(err, &problems):
					bad = true
					fmt.Fprintln(r.Err, problems.Error())
				case errors.Is(err, fs.ErrNotExist):
					return &failure{ExitNotFound, fmt.Sprintf("there is no file %s", path), ""}
				case err != nil:
					return err
				}
			}
			if bad {
				return ended{ExitFailure}
			}
			return nil
		},
	}
}

// agreementSLA tells how a partner stands.
func (r *run) agreementSLA() *cobra.Command {
	var (
		req                    partnersv1.GetAttainmentRequest
		asJSON, asCSV, callers bool
	)
	c := &cobra.Command{
		Use: "sla PARTNER", Short: "Tell how a partner stands against what was agreed on", Args: exactly(1),
		Long: "Sla tells what was agreed on with a partner and what it was, over the last 30 days unless stated. It needs a key with a role: viewer, reviewer, operator, auditor or admin.",
		RunE: func(cmd *cobra.Command, args []string) error {
			return r.withPlatform(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				req.Partner = args[0]
				res, err := c.Attainment(ctx, &req)
				switch {
				case err != nil:
					return err
				case asJSON:
					return r.sayJSON(res)
				case callers:
					return partners.CallersCSV(r.Out, res)
				case asCSV:
					return partners.AttainmentCSV(r.Out, res)
				}
				return r.say(render.Attainment(res)...)
			})
		},
	}
	f := c.Flags()
	f.StringVar(&req.Skill, "skill", "", "only this skill")
	f.StringVar(&req.Window, "window", "", "1h, 24h or 30d up to now")
	f.StringVar(&req.Month, "month", "", "a month, UTC, as 2026-11, instead of a window")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	f.BoolVar(&asCSV, "csv", false, "print one line of CSV for each thing that was agreed on")
	f.BoolVar(&callers, "callers", false, "print one line of CSV for each caller")
	c.MarkFlagsMutuallyExclusive("json", "csv", "callers")
	c.MarkFlagsMutuallyExclusive("window", "month")
	return r.calls(c)
}
