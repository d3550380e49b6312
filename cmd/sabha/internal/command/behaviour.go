package command

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	"sabha.dev/cmd/sabha/internal/client"
	partnersv1 "sabha.dev/gen/sabha/partners/v1"
)

// contracts is the service that commands on golden tasks call.
type contracts = partnersv1.ContractServiceClient

// behaved makes one call of contract tests and shows the answer, or prints it as JSON.
func behaved[Res proto.Message](r *run, c *cobra.Command, call func(context.Context, contracts, []string) (Res, error), show func(Res) []string) *cobra.Command {
	var jsonLine bool
	c.RunE = func(cmd *cobra.Command, args []string) error {
		return r.withPlatform(cmd.Context(), func(ctx context.Context, c *client.Client) error {
			res, err := client.Contracts(ctx, c, func(ctx context.Context, s contracts) (Res, error) { return call(ctx, s, args) })
			if err != nil {
				return err
			}
			if jsonLine {
				return r.sayJSON(res)
			}
			return r.say(show(res)...)
		})
	}
	c.Flags().BoolVar(&jsonLine, "json", false, "print the answer as a line of JSON")
	return r.calls(c)
}

func (r *run) contractList() *cobra.Command {
	return behaved(r, &cobra.Command{Use: "list", Short: "List partners with golden tasks, and what stands of each", Args: exactly(0)},
		func(ctx context.Context, s contracts, _ []string) (*partnersv1.ListSuitesResponse, error) {
			return s.ListSuites(ctx, &partnersv1.ListSuitesRequest{})
		},
		func(res *partnersv1.ListSuitesResponse) []string {
			if len(res.GetSuites()) == 0 {
				return []string{"No partner has golden tasks."}
			}
			return r.style().Suites(res.GetSuites())
		})
}

func (r *run) contractTest() *cobra.Command {
	var req partnersv1.RunSuiteRequest
	c := &cobra.Command{
		Use: "test PARTNER", Short: "Run the golden tasks of a partner now", Args: exactly(1),
		Long: "Test asks for runs and does not wait for them; they count like those of the schedule, so a hundred make a baseline. It needs the key of an operator.",
	}
	c.Flags().Int32Var(&req.Runs, "runs", 1, "how many, 1 to 1000")
	c.Flags().StringVar(&req.Reason, "reason", "", "why, for those who read it later")
	return behaved(r, c, func(ctx context.Context, s contracts, args []string) (*partnersv1.RunSuiteResponse, error) {
		req.Partner = args[0]
		return s.RunSuite(ctx, &req)
	}, func(res *partnersv1.RunSuiteResponse) []string {
		said := fmt.Sprintf("Run %d of %s is asked for.", res.GetFirst(), req.GetPartner())
		if res.GetLast() > res.GetFirst() {
			said = fmt.Sprintf("Runs %d to %d of %s are asked for.", res.GetFirst(), res.GetLast(), req.GetPartner())
		}
		return []string{said + " See them with: sabha contract runs " + req.GetPartner()}
	})
}

func (r *run) contractRuns() *cobra.Command {
	var req partnersv1.ListRunsRequest
	c := &cobra.Command{
		Use: "runs PARTNER", Short: "List runs of golden tasks, the newest first", Args: exactly(1),
		Long: "CHANCE is the probability of what the look after the run saw when nothing has changed; at 0.0005 or less it is a drift.",
	}
	c.Flags().Int32Var(&req.PageSize, "limit", 50, "how many, 1 to 200")
	c.Flags().Int64Var(&req.Before, "before", 0, "only runs before this number")
	c.Flags().BoolVar(&req.Samples, "samples", false, "with what was measured of each answer; use it with --json")
	return behaved(r, c, func(ctx context.Context, s contracts, args []string) (*partnersv1.ListRunsResponse, error) {
		req.Partner = args[0]
		return s.ListRuns(ctx, &req)
	}, func(res *partnersv1.ListRunsResponse) []string {
		if len(res.GetRuns()) == 0 {
			return []string{"No runs."}
		}
		return r.style().Runs(res.GetRuns())
	})
}

func (r *run) contractShow() *cobra.Command {
	return behaved(r, &cobra.Command{Use: "show PARTNER", Short: "Show how a partner behaves against its baseline, and what was found", Args: exactly(1)},
		func(ctx context.Context, s contracts, args []string) (*partnersv1.GetVerdictResponse, error) {
			return s.GetVerdict(ctx, &partnersv1.GetVerdictRequest{Partner: args[0]})
		}, func(res *partnersv1.GetVerdictResponse) []string { return r.style().Behaviour(res) })
}

func (r *run) contractRebaseline() *cobra.Command {
	var req partnersv1.RebaselineRequest
	c := &cobra.Command{
		Use: "rebaseline PARTNER --reason WHY", Short: "Take the behaviour of now as the measure, and close what was found", Args: exactly(1),
		Long: "Rebaseline begins a new baseline; the next runs record it. A partner that was suspended stays so until it is approved again. It needs the key of an operator.",
	}
	c.Flags().StringVar(&req.Reason, "reason", "", "why, for those who read it later")
	return behaved(r, c, func(ctx context.Context, s contracts, args []string) (*partnersv1.RebaselineResponse, error) {
		req.Partner = args[0]
		return s.Rebaseline(ctx, &req)
	}, func(res *partnersv1.RebaselineResponse) []string {
		return []string{fmt.Sprintf("Baseline %d of %s begins; it needs %d runs.", res.GetBaseline().GetNumber(), req.GetPartner(), res.GetBaseline().GetSize())}
	})
}
