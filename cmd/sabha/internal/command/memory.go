package command

import (
	"fmt"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/cmd/sabha/internal/render"
)

func (r *run) memory() *cobra.Command {
	c := &cobra.Command{Use: "memory", Short: "See, export and forget what is remembered for you", Args: cobra.NoArgs}
	c.AddCommand(r.memoryList(), r.memoryExport(), r.memoryForget())
	return group(c)
}

// remembered asks the memory and gives the data of its answer.
func (r *run) remembered(cmd *cobra.Command, skill string, input map[string]any) (*structpb.Struct, error) {
	c, err := r.dial(cmd.Context())
	if err != nil {
		return nil, err
	}
	defer func() { _ = c.Close() }()
	return c.Call(cmd.Context(), "memory", skill, input)
}

func (r *run) memoryList() *cobra.Command {
	return r.calls(&cobra.Command{
		Use: "list", Short: "List what is remembered for you, the oldest first", Args: exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			data, err := r.remembered(cmd, "export", map[string]any{})
			if err != nil {
				return err
			}
			list := data.GetFields()["memories"].GetListValue().GetValues()
			if len(list) == 0 {
				return r.say("Nothing is remembered for you.")
			}
			for _, m := range list {
				f := m.GetStructValue().GetFields()
				line := fmt.Sprintf("%s  %s  %s", f["id"].GetStringValue(), f["kind"].GetStringValue(), render.Clean(f["text"].GetStringValue()))
				if f["superseded_by"].GetStringValue() != "" {
					line += "  (superseded)"
				}
				if err := r.say(line); err != nil {
					return err
				}
			}
			return nil
		},
	})
}

func (r *run) memoryExport() *cobra.Command {
	return r.calls(&cobra.Command{
		Use: "export", Short: "Print everything that is held about you as JSON", Args: exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			data, err := r.remembered(cmd, "export", map[string]any{})
			if err != nil {
				return err
			}
			return r.sayJSON(data)
		},
	})
}

func (r *run) memoryForget() *cobra.Command {
	var (
		all       bool
		contextID string
	)
	c := &cobra.Command{
		Use: "forget [ID]", Short: "Forget a memory, those of a context, or everything", Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			input := map[string]any{}
			if len(args) == 1 {
				input["id"] = args[0]
			}
			if contextID != "" {
				input["context"] = contextID
			}
			if all {
				input["all"] = true
			}
			if len(input) != 1 {
				return usagef("give one of ID, --context and --all")
			}
			data, err := r.remembered(cmd, "forget", input)
			if err != nil {
				return err
			}
			return r.say(fmt.Sprintf("%.0f forgotten.", data.GetFields()["forgotten"].GetNumberValue()))
		},
	}
	c.Flags().BoolVar(&all, "all", false, "forget everything that is remembered for you")
	c.Flags().StringVar(&contextID, "context", "", "forget what was noted in a context")
	return r.calls(c)
}
