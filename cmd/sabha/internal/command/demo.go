package command

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"

	"sabha.dev/cmd/sabha/internal/client"
	"sabha.dev/cmd/sabha/internal/render"
	"sabha.dev/cmd/sabha/platform"
)

// questions that the demonstration asks about the project's own documents.
var questions = []string{
	"What happens to a running task when its process is killed?",
	"Which exit code does sabha ask give when a task waits for more input?",
}

func (r *run) demo() *cobra.Command {
	docs := defaultDocs
	c := &cobra.Command{
		Use: `demo ["QUESTION"…]`, Short: "Start a throwaway platform, ask it two questions, and stop",
		Long: `Demo starts everything on free ports with its data in a temporary folder, ingests a folder
of documents, asks questions about them, shows how they are worked on, prints the answers
with their sources, and leaves nothing behind.`,
		Example: "  sabha demo\n  sabha demo --docs ./handbook \"How many days of leave are there?\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			asked := questions
			if len(args) > 0 {
				asked = args
			}
			return r.runDemo(cmd.Context(), docs, asked)
		},
	}
	c.Flags().StringVar(&docs, "docs", docs, "folder of documents to ask about")
	return c
}

func (r *run) runDemo(ctx context.Context, docs string, asked []string) (err error) {
	if err := checkDocs(docs); err != nil {
		return err
	}
	data, err := os.MkdirTemp("", "sabha-demo-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(data)) }()
	began := r.Clock.Now()
	p, report, err := start(ctx, platform.Options{
		Data: data, Docs: docs, HTTP: "127.0.0.1:0", GRPC: "127.0.0.1:0", Console: "127.0.0.1:0",
		Log: slog.New(slog.NewTextHandler(r.Err, &slog.HandlerOptions{Level: slog.LevelError})),
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop(ctx, p)) }()
	if err := r.say(fmt.Sprintf("Sabha is ready after %s, at %s for now. %s: %s", took(r.Clock.Now().Sub(began)), webAddress(p.HTTPAddr()), docs, report)); err != nil {
		return err
	}
	server, err := client.ParseServer(webAddress(p.HTTPAddr()))
	if err != nil {
		return err
	}
	c, err := r.dialServer(ctx, server, p.FirstKey)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	for _, text := range asked {
		if err := r.demonstrate(ctx, c, text); err != nil {
			return err
		}
	}
	return nil
}

// demonstrate asks one question; all that it shows is output.
func (r *run) demonstrate(ctx context.Context, c *client.Client, text string) error {
	if err := r.say("", "» "+text, ""); err != nil {
		return err
	}
	m, err := question{text: text}.message()
	if err != nil {
		return err
	}
	p, err := r.follow(ctx, c, c.Ask(ctx, m), r.Clock.Now(), r.Out)
	if errors.Is(err, errDetached) {
		return &failure{code: ExitDetached, text: "interrupted; the demonstration's platform is gone with its data"}
	}
	if err != nil {
		return err
	}
	return r.conclude(p, nil)
}

func took(d time.Duration) string { return render.Took(d) }
