package command

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"sabha.dev/chassis/strictyaml"
	"sabha.dev/services/partners"
)

func (r *run) agreement() *cobra.Command {
	c := &cobra.Command{Use: "agreement", Short: "Check operating agreements with partners, without a platform", Args: cobra.NoArgs}
	c.AddCommand(r.agreementCheck())
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
