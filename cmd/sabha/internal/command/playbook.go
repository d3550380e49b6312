package command

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"sabha.dev/chassis/strictyaml"
	"sabha.dev/services/partners"
	"sabha.dev/services/planner/playbook"
)

func (r *run) playbook() *cobra.Command {
	c := &cobra.Command{Use: "playbook", Short: "Check and draw playbooks, without a platform", Args: cobra.NoArgs}
	c.AddCommand(r.playbookCheck(), r.playbookGraph())
	return group(c)
}

func (r *run) playbookCheck() *cobra.Command {
	var agreements string
	c := &cobra.Command{
		Use: "check FILE…", Short: "Check playbooks and say what is wrong, with line and path", Args: atLeastOne,
		Long: `Check playbooks and say what is wrong, with line and path. With the folder of the
agreements steps that call partners are held against them: whether one allows the skill,
and whether the budget of the step fits what was agreed on.`,
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
				case agreements != "":
					fits, err := r.partnerSteps(file, p, agreements)
					if err != nil {
						return err
					}
					if !fits {
						bad = true
						continue
					}
					fallthrough
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
	c.Flags().StringVar(&agreements, "agreements", "", "folder of the agreements with partners, to hold steps against")
	return c
}

// partnerSteps holds the steps of a playbook that call partners against the agreements. It
// tells whether they can work.
func (r *run) partnerSteps(file string, p *playbook.Playbook, folder string) (bool, error) {
	var steps []partners.Step
	for _, s := range p.Steps {
		if s.Agent == partners.Name {
			steps = append(steps, partners.Step{ID: s.ID, Skill: s.Skill, Budget: s.Budget})
		}
		if c := s.Compensation; c != nil && c.Agent == partners.Name {
			steps = append(steps, partners.Step{ID: s.ID + " (compensation)", Skill: c.Skill})
		}
	}
	problems, warnings, err := partners.Steps(folder, steps)
	var wrong strictyaml.Problems
	switch {
	case errors.As(err, &wrong):
		fmt.Fprintln(r.Err, wrong.Error())
		return false, nil
	case errors.Is(err, fs.ErrNotExist):
		return false, &failure{ExitNotFound, "there is no folder " + folder, ""}
	case err != nil:
		return false, err
	}
	for _, problem := range problems {
		fmt.Fprintln(r.Err, file+": "+problem)
	}
	for _, warning := range warnings {
		fmt.Fprintln(r.Err, file+": warning: "+warning)
	}
	return len(problems) == 0, nil
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
