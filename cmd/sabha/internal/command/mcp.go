package command

import (
	"crypto/tls"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"sabha.dev/cmd/sabha/internal/bridge"
	"sabha.dev/cmd/sabha/internal/client"
)

// mcpPath is where a platform serves MCP.
const mcpPath = "/mcp"

func (r *run) mcp() *cobra.Command {
	c := &cobra.Command{
		Use: "mcp", Short: "Serve a platform's tools to an assistant over standard input and output", Args: exactly(0),
		Long: `Mcp is for assistants that start a program to have tools (MCP over stdio). It carries their
messages to the platform and back: the agents' skills are the tools, each call is a task of
the key's owner, and without a key there are search, fetch, get_changes and whoami.

An assistant's configuration names it like this:

  {"mcpServers": {"sabha": {"command": "sabha", "args": ["mcp", "--server", "http://127.0.0.1:8080"],
                            "env": {"SABHA_KEY": "sk-…"}}}}`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			server, err := client.ParseServer(firstOf(r.server, r.Env("SABHA_SERVER"), defaultServer))
			if err != nil {
				return usagef("%v", err)
			}
			authorities, err := r.authorities()
			if err != nil {
				return err
			}
			transport := http.DefaultTransport.(*http.Transport).Clone()
			transport.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: authorities}
			defer transport.CloseIdleConnections()
			header := http.Header{}
			if key := r.apiKey(); key != "" {
				header.Set("X-API-Key", key)
			}
			b := &bridge.Bridge{
				URL: strings.TrimRight(server.String(), "/") + mcpPath, Header: header, Client: &http.Client{Transport: transport}, After: r.Clock.After,
			}
			return b.Run(cmd.Context(), cmd.InOrStdin(), r.Out)
		},
	}
	return r.calls(c)
}
