package command

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"sabha.dev/cmd/sabha/internal/card"
	"sabha.dev/cmd/sabha/internal/client"
)

func (r *run) card() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "card URL", Short: "Fetch an agent card, show it and check it",
		Long: `Card fetches the card of an agent, of this platform or of anyone else, shows what it says
and checks it against the A2A specification 1.0. URL is the base address of the agent or
the address of the card itself. The exit code is 1 when the card has an error.`,
		Example: "  sabha card http://127.0.0.1:8080\n  sabha card http://127.0.0.1:8080/research",
		Args:    exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			base, err := client.ParseServer(args[0])
			if err != nil {
				return usagef("%v", err)
			}
			authorities, err := r.authorities()
			if err != nil {
				return err
			}
			fetched, err := client.Fetch(cmd.Context(), base, authorities)
			var unreachable *client.Unreachable
			if errors.As(err, &unreachable) {
				return &failure{ExitUnavailable, fmt.Sprintf("cannot reach %s: %s", unreachable.Address, cause(unreachable.Err)), ""}
			}
			if err != nil {
				return err
			}
			c, findings := card.Check(fetched.Body)
			findings = append(findings, card.Headers(fetched.Header)...)
			if asJSON {
				err = r.cardJSON(fetched, findings)
			} else {
				var lines []string
				if c != nil {
					lines = append(r.style().Card(c), "")
				}
				err = r.say(append(lines, r.style().Findings(findings)...)...)
			}
			if err == nil && !card.Valid(findings) {
				err = ended{ExitFailure}
			}
			return err
		},
	}
	c.Flags().StringVar(&r.ca, "ca", "", caHelp)
	c.AddCommand(r.cardVerify(), r.cardSign(), r.cardKeys())
	c.Flags().BoolVar(&asJSON, "json", false, "print the card as published and the findings as one JSON object")
	return c
}

func (r *run) cardJSON(f *client.Fetched, findings []card.Finding) error {
	if findings == nil {
		findings = []card.Finding{}
	}
	published := json.RawMessage(f.Body)
	if !json.Valid(published) {
		published = json.RawMessage("null")
	}
	raw, err := json.Marshal(struct {
		URL      string          `json:"url"`
		Card     json.RawMessage `json:"card"`
		Findings []card.Finding  `json:"findings"`
	}{f.URL, published, findings})
	if err != nil {
		return fmt.Errorf("card: %w", err)
	}
	return r.say(string(raw))
}
