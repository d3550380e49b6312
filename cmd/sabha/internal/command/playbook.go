package command

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"sabha.dev/services/planner/playbook"
)

func (r *run) playbook() *cobra.Command {
	c := &cobra.Command{Use: "playbook", Short: "Check and draw playbooks, without a platform", Args: cobra.NoArgs}
	c.AddCommand(r.playbookCheck(), r.playbookGraph())
	return group(c)
}

func (r *run) playbookCheck() *cobra.Command {
	return &cobra.Command{
		Use: "check FILE…", Short: "Check playbooks and say what is wrong, with line and path", Args: atLeastOne,
		RunE: func(_ *cobra.Command, args []string) error {
			bad := false
			for _, file := range args {
				p, err := readPlaybook(file)
				var problems playbook.Problems
				switch {
				case errors.As(err, &problems):
					bad = true
					fmt.Fprintln(r.Err, problems.Error())
				case err != nil:
					return err
				default:
					if err := r.say(fmt.Sprintf("%s: playbook %s version %s is sound, %s", file, p.Name, p.Version, steps(len(p.Steps)))); err != nil {
						return err
					}
				}
			}
			if bad {
				return ended{ExitFailure}
			}
			return nil
		},
	}
}

func steps(n int) string {
	if n == 1 {
		return "1 step"
	}
	return fmt.Sprintf("%d steps", n)
}

func (r *run) playbookGraph() *cobra.Command {
	format := string(playbook.TextFormat)
	formats := []string{string(playbook.TextFormat), string(playbook.DOTFormat), string(playbook.MermaidFormat)}
	c := &cobra.Command{
		Use: "graph FILE", Short: "Draw the steps of a playbook and what needs what", Args: exactly(1),
		Example: "  sabha playbook graph playbooks/general.yaml\n  sabha playbook graph --format dot playbooks/general.yaml | dot -Tsvg >general.svg",
		RunE: func(_ *cobra.Command, args []string) error {
			p, err := readPlaybook(args[0])
			var problems playbook.Problems
			if errors.As(err, &problems) {
				fmt.Fprintln(r.Err, problems.Error())
				return ended{ExitFailure}
			}
			if err != nil {
				return err
			}
			if err := p.Graph(r.Out, playbook.Format(format)); err != nil {
				return usagef("--format: %v", err)
			}
			return nil
		},
	}
	c.Flags().StringVar(&format, "format", format, "text, dot or mermaid")
	_ = c.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
	return c
}

// readPlaybook reads and checks a file against the platform's own agents.
func readPlaybook(file string) (*playbook.Playbook, error) {
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &failure{ExitNotFound, fmt.Sprintf("there is no file %s", file), ""}
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	// A byte over the bound is enough for Parse to refuse the file.
	data, err := io.ReadAll(io.LimitReader(f, playbook.MaxFileSize+1))
	if err != nil {
		return nil, err
	}
	return playbook.Parse(file, data, playbook.Personas())
}
