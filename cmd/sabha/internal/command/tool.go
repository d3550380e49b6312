package command

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"sabha.dev/cmd/sabha/internal/client"
	"sabha.dev/cmd/sabha/internal/render"
	executorv1 "sabha.dev/gen/sabha/executor/v1"
)

// tools is the service that the commands call.
type tools = executorv1.ToolServiceClient

func (r *run) tool() *cobra.Command {
	c := &cobra.Command{Use: "tool", Short: "Tools of MCP servers: look at them, approve them, refuse them", Args: cobra.NoArgs}
	c.AddCommand(r.toolList(), r.toolShow(),
		r.toolDecide(true, "approve", "Approve what a server says of a tool, so that it is called"),
		r.toolDecide(false, "refuse", "Refuse what a server says of a tool, or take an approval back"))
	return group(c)
}

func (r *run) toolList() *cobra.Command {
	var held, jsonLine bool
	c := &cobra.Command{
		Use: "list", Short: "List tools, those that wait for a decision first", Args: exactly(0),
		Long: "List shows servers that are not ready, then all tools. It needs a key with a role: viewer, reviewer, operator, auditor or admin.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			req := &executorv1.ListToolsRequest{}
			if held {
				req.Standings = []executorv1.Standing{executorv1.Standing_STANDING_HELD}
			}
			return r.withPlatform(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				res, err := client.Tools(ctx, c, func(ctx context.Context, s tools) (*executorv1.ListToolsResponse, error) {
					return s.ListTools(ctx, req)
				})
				switch {
				case err != nil:
					return err
				case jsonLine:
					for _, t := range res.GetTools() {
						if err := r.sayJSON(t); err != nil {
							return err
						}
					}
					return nil
				case len(res.GetTools())+len(res.GetServers()) == 0:
					return r.say("Nothing here.")
				}
				return r.say(r.style().Tools(res.GetServers(), res.GetTools())...)
			})
		},
	}
	c.Flags().BoolVar(&held, "held", false, "only those that wait for a decision")
	c.Flags().BoolVar(&jsonLine, "json", false, "print each tool as a line of JSON")
	return r.calls(c)
}

// named splits SERVER/TOOL.
func named(full string) (server, tool string, err error) {
	server, tool, ok := strings.Cut(full, "/")
	if !ok || server == "" || tool == "" {
		return "", "", usagef("%q is no name of a tool; write SERVER/TOOL", full)
	}
	return server, tool, nil
}

func getTool(ctx context.Context, c *client.Client, full string) (*executorv1.GetToolResponse, error) {
	server, tool, err := named(full)
	if err != nil {
		return nil, err
	}
	return client.Tools(ctx, c, func(ctx context.Context, s tools) (*executorv1.GetToolResponse, error) {
		return s.GetTool(ctx, &executorv1.GetToolRequest{Server: server, Name: tool})
	})
}

func (r *run) toolShow() *cobra.Command {
	var jsonLine bool
	c := &cobra.Command{
		Use: "show SERVER/TOOL", Short: "Show what a server says of a tool, what has changed, and what was decided", Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return r.withPlatform(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				res, err := getTool(ctx, c, args[0])
				switch {
				case err != nil:
					return err
				case jsonLine:
					return r.sayJSON(res)
				}
				return r.say(r.style().Tool(res)...)
			})
		},
	}
	c.Flags().BoolVar(&jsonLine, "json", false, "print it as a line of JSON")
	return r.calls(c)
}

func (r *run) toolDecide(approve bool, verb, does string) *cobra.Command {
	var digest, note string
	c := &cobra.Command{
		Use: verb + " SERVER/TOOL --digest D", Short: does, Args: exactly(1),
		Long: "The digest is the one that list and show have shown: you decide on that and on nothing else. It needs the key of an operator.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(digest) < render.DigestShown {
				return usagef("--digest is missing or shorter than %d digits; see it with: sabha tool show %s", render.DigestShown, args[0])
			}
			return r.withPlatform(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				d, err := getTool(ctx, c, args[0])
				if err != nil {
					return err
				}
				t := d.GetTool()
				res, err := client.Tools(ctx, c, func(ctx context.Context, s tools) (*executorv1.DecideToolResponse, error) {
					return s.DecideTool(ctx, &executorv1.DecideToolRequest{Server: t.GetServer(), Name: t.GetName(), Digest: whole(digest, t.GetDigest()), Approve: approve, Note: note})
				})
				if err != nil {
					return err
				}
				return r.say(r.style().Tools(nil, []*executorv1.Tool{res.GetTool()})...)
			})
		},
	}
	digestFlag(c, &digest)
	c.Flags().StringVar(&note, "note", "", "a note for the history")
	return r.calls(c)
}
