package command

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"sabha.dev/chassis/identity"
	"sabha.dev/chassis/service"
	"sabha.dev/cmd/sabha/internal/client"
	"sabha.dev/cmd/sabha/platform"
)

func (r *run) keys() *cobra.Command {
	return &cobra.Command{
		Use: "keys DIR", Short: "Make the key pairs with which services identify to each other", Args: exactly(1),
		Long: `Keys writes SERVICE.key and SERVICE.pub into a folder for every service that has none there
yet. Give each service its own .key and all .pub files. Sabha up makes its own; this is for
services that run as processes of their own.`,
		RunE: func(_ *cobra.Command, args []string) error {
			if err := identity.MakeKeys(args[0], platform.Services...); err != nil {
				return err
			}
			return r.say(fmt.Sprintf("%s holds the keys of %d services.", args[0], len(platform.Services)))
		},
	}
}

func (r *run) version() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: exactly(0),
		RunE: func(*cobra.Command, []string) error {
			return r.say(fmt.Sprintf("sabha %s (A2A %s, %s)", service.Release(), client.ProtocolVersion, runtime.Version()))
		},
	}
}
