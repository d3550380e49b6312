package command

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"sabha.dev/chassis/strictyaml"
	"sabha.dev/services/partners"
)

func (r *run) contract() *cobra.Command {
	c := &cobra.Command{Use: "contract", Short: "Golden tasks of partners: check files, run them, see what they found", Args: cobra.NoArgs}
	c.AddCommand(r.contractCheck(), r.contractList(), r.contractTest(), r.contractRuns(), r.contractShow(), r.contractRebaseline())
	return group(c)
}

func (r *run) contractCheck() *cobra.Command {
	return &cobra.Command{
		Use: "check FILE…", Short: "Check files of golden tasks and say what is wrong, with line and path", Args: atLeastOne,
		Long: "Check also says of each measure whether a run gives enough values of it to find a shift of half a standard deviation within 20 runs.",
		RunE: func(_ *cobra.Command, args []string) error {
			bad := false
			for _, file := range args {
				err := partners.CheckContract(file, r.Out)
				var problems strictyaml.Problems
				switch {
				case errors.As(err, &problems):
					bad = true
					fmt.Fprintln(r.Err, problems.Error())
				case errors.Is(err, fs.ErrNotExist):
					return &failure{ExitNotFound, fmt.Sprintf("there is no file %s", file), ""}
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
