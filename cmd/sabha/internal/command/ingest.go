package command

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"sabha.dev/chassis/service"
	"sabha.dev/services/research"
)

func (r *run) ingest() *cobra.Command {
	var data, database string
	c := &cobra.Command{
		Use: "ingest DIR", Short: "Bring a folder of documents into the data folder", Args: exactly(1),
		Long: `Ingest reads the Markdown, HTML, plain-text, CSV, JSON and DOCX files of a folder and makes the
platform's documents the same as the folder: what is new or changed is read, what is gone is removed.
It works on the data folder, beside a running platform or without one; a running one
finds the change with its next search. Files that cannot be read are named and skipped.

A platform that is started with --docs, or finds ./docs, makes its documents the same as
that folder again.`,
		Example: "  sabha ingest ./handbook\n  sabha ingest ./handbook --database 'postgres://…?search_path=research'",
		RunE: func(cmd *cobra.Command, args []string) error {
			if database == "" {
				database = researchDatabase(data)
			}
			if info, err := os.Stat(args[0]); err != nil || !info.IsDir() {
				return &failure{ExitFailure, fmt.Sprintf("%s is not a folder that can be read", args[0]), "Name the folder that holds the documents"}
			}
			report, err := research.Ingest(cmd.Context(), research.Config{Config: service.Config{Database: database}}, args[0])
			if err != nil {
				return err
			}
			return r.say(report.String())
		},
	}
	c.Flags().StringVar(&data, "data", defaultData, "data folder of the platform")
	c.Flags().StringVar(&database, "database", "", "database of the research service instead, sqlite:PATH or postgres://…")
	c.MarkFlagsMutuallyExclusive("data", "database")
	return c
}
