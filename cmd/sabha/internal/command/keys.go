package command

import (
	"fmt"
	"regexp"
	"runtime"
	"slices"

	"github.com/spf13/cobra"

	"sabha.dev/chassis/identity"
	"sabha.dev/chassis/service"
	"sabha.dev/cmd/sabha/internal/client"
	"sabha.dev/cmd/sabha/platform"
)

func (r *run) keys() *cobra.Command {
	return &cobra.Command{
		Use: "keys DIR [SERVICE...]", Short: "Make the key pairs with which services sign their calls",
		Long: `Keys writes SERVICE.key and SERVICE.pub into a folder for every service that has none there
yet, and for further services that are named, such as an agent of your own. Give each service
its own .key and all .pub files. Sabha up makes its own; this is for services that run as
processes of their own.`,
		Args: folderAndServices,
		RunE: func(_ *cobra.Command, args []string) error {
			services := withServices(platform.Services, args[1:])
			if err := identity.MakeKeys(args[0], services...); err != nil {
				return err
			}
			return r.say(fmt.Sprintf("%s holds the keys of %d services.", args[0], len(services)))
		},
	}
}

// serviceName is what a service may be called: it names files, hosts and subjects.
var serviceName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,62}$`)

// folderAndServices checks the arguments DIR [SERVICE...].
func folderAndServices(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usagef("%s takes a folder; write: %s", cmd.CommandPath(), cmd.UseLine())
	}
	for _, s := range args[1:] {
		if !serviceName.MatchString(s) {
			return usagef("%q is no name of a service; use small letters, digits and hyphens", s)
		}
	}
	return nil
}

// withServices are the services with those of more that are not among them.
func withServices(services, more []string) []string {
	all := slices.Clone(services)
	for _, s := range more {
		if !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return all
}

func (r *run) version() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: exactly(0),
		RunE: func(*cobra.Command, []string) error {
			return r.say(fmt.Sprintf("sabha %s (A2A %s, %s)", service.Release(), client.ProtocolVersion, runtime.Version()))
		},
	}
}
