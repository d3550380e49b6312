// Package command is the command line of sabha.
package command

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"sabha.dev/chassis/clock"
	"sabha.dev/cmd/sabha/internal/client"
	"sabha.dev/cmd/sabha/internal/render"
)

// App is the command line with its surroundings, so that tests can give their own.
type App struct {
	Out, Err io.Writer
	// Env reads an environment variable.
	Env   func(string) string
	Clock clock.Clock
	// Zone is where times of day are shown.
	Zone *time.Location
	// Screen gives the size of the terminal; false when output does not go to one.
	Screen func() (width, height int, ok bool)
}

// Main runs a command line and gives the exit code.
func Main(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// The first signal asks; the second one ends the process.
	context.AfterFunc(ctx, stop)
	a := &App{Out: os.Stdout, Err: os.Stderr, Env: os.Getenv, Clock: clock.System{}, Zone: time.Local, Screen: screen}
	return int(a.Run(ctx, args))
}

// screen is the terminal that both outputs go to.
func screen() (int, int, bool) {
	if !term.IsTerminal(int(os.Stdout.Fd())) || !term.IsTerminal(int(os.Stderr.Fd())) {
		return 0, 0, false
	}
	w, h, err := term.GetSize(int(os.Stderr.Fd()))
	return w, h, err == nil && w > 0 && h > 0
}

// Run runs a command line and gives the exit code. Errors are told on Err.
func (a *App) Run(ctx context.Context, args []string) Code {
	r := &run{App: a, notices: make(chan string, 1)}
	root := r.root()
	root.SetArgs(args)
	root.SetOut(a.Out)
	root.SetErr(a.Err)
	started := false
	root.PersistentPreRun = func(*cobra.Command, []string) { started = true }
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return ExitOK
	}
	var told ended
	if errors.As(err, &told) {
		return told.code
	}
	var usage *usageError
	if !started && !errors.As(err, &usage) {
		// cobra's own errors: an unknown command or flag.
		err = &usageError{text: suggestion(err.Error())}
	}
	if errors.As(err, &usage) && usage.help == "" {
		usage.help = cmd.CommandPath()
	}
	f := explain(err, r.apiKey() != "")
	fmt.Fprintf(a.Err, "sabha: %s\n", render.Clean(f.text))
	if f.next != "" {
		fmt.Fprintln(a.Err, f.next)
	}
	return f.code
}

// suggestion puts cobra's list of similar commands into its sentence.
func suggestion(text string) string {
	text, similar, _ := strings.Cut(strings.TrimSpace(text), "\n\nDid you mean this?")
	if names := strings.Fields(similar); len(names) > 0 {
		text += "; did you mean " + strings.Join(names, " or ") + "?"
	}
	return text
}

// run is one run of the program: the surroundings and the flags of all commands.
type run struct {
	*App
	server, key, ca string
	// notices of the client, for whoever shows progress.
	notices chan string
}

func (r *run) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "sabha",
		Short: "A council of agents: ask a question, watch who works on it, see who decided what",
		Long: `Sabha runs agents that work together on one request. Every hop between them is a
governed, durable A2A task.

  sabha demo              see it work, on a throwaway platform
  sabha up                run a platform that stays
  sabha ask "…"           ask it something`,
		SilenceUsage: true, SilenceErrors: true,
	}
	root.AddGroup(&cobra.Group{ID: "use", Title: "Ask and watch:"}, &cobra.Group{ID: "run", Title: "Run a platform:"}, &cobra.Group{ID: "check", Title: "Write and check:"})
	for group, commands := range map[string][]*cobra.Command{
		"use":   {r.ask(), r.task(), r.audit(), r.memory(), r.review(), r.partner(), r.tool(), r.mcp(), r.push()},
		"run":   {r.up(), r.demo(), r.ingest(), r.keys(), r.certs()},
		"check": {r.playbook(), r.agreement(), r.contract(), r.card(), r.egress()},
	} {
		for _, c := range commands {
			c.GroupID = group
			root.AddCommand(c)
		}
	}
	root.AddCommand(r.version(), &cobra.Command{Use: "exit-codes", Short: "What the exit codes say", Long: exitHelp()},
		&cobra.Command{Use: "environment", Short: "Environment variables", Long: environmentHelp})
	return root
}

const environmentHelp = `SABHA_SERVER   address of the platform; --server wins; default ` + defaultServer + `
SABHA_KEY      API key; --key wins
SABHA_CA       file of authorities to trust over https; --ca wins; default the system's
NO_COLOR       any value: no colour (https://no-color.org)
`

const defaultServer = "http://127.0.0.1:8080"

// calls adds the flags of commands that call a platform.
func (r *run) calls(c *cobra.Command) *cobra.Command {
	c.Flags().StringVar(&r.server, "server", "", "address of the platform (default SABHA_SERVER, else "+defaultServer+")")
	c.Flags().StringVar(&r.key, "key", "", "API key (default SABHA_KEY)")
	c.Flags().StringVar(&r.ca, "ca", "", caHelp)
	return c
}

const caHelp = "file of authorities to trust over https, PEM (default SABHA_CA, else those of the system)"

// authorities are those to trust over TLS; nil for those of the system.
func (r *run) authorities() (*x509.CertPool, error) {
	file := firstOf(r.ca, r.Env("SABHA_CA"))
	if file == "" {
		return nil, nil
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, usagef("the authorities cannot be read: %v", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(raw) {
		return nil, usagef("%s holds no certificate (PEM); name the ca.crt that sabha certs made", file)
	}
	return pool, nil
}

func (r *run) apiKey() string { return firstOf(r.key, r.Env("SABHA_KEY")) }

func firstOf(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

// dial connects to the platform that the flags and the environment name.
func (r *run) dial(ctx context.Context) (*client.Client, error) {
	server, err := client.ParseServer(firstOf(r.server, r.Env("SABHA_SERVER"), defaultServer))
	if err != nil {
		return nil, usagef("%v", err)
	}
	return r.dialServer(ctx, server, r.apiKey())
}

func (r *run) dialServer(ctx context.Context, server *url.URL, key string) (*client.Client, error) {
	authorities, err := r.authorities()
	if err != nil {
		return nil, err
	}
	return client.Dial(ctx, client.Options{
		Server: server, Key: key, Authorities: authorities, Clock: r.Clock, Notice: func(text string) {
			select {
			case r.notices <- text:
			default: // nobody reads; the same was said already
			}
		},
	})
}

// style is how output is to look now.
func (a *App) style() render.Style {
	s := render.Style{Zone: a.Zone}
	if w, _, ok := a.Screen(); ok {
		// A line that fills the last column moves some terminals on to the next one.
		s.Width = w - 1
		s.Color = a.Env("NO_COLOR") == "" && a.Env("TERM") != "dumb"
	}
	return s
}

// say prints lines.
func (a *App) say(lines ...string) error {
	for _, l := range lines {
		if _, err := fmt.Fprintln(a.Out, l); err != nil {
			return fmt.Errorf("write output: %w", err)
		}
	}
	return nil
}

// exactly checks the number of arguments and shows what is wanted.
func exactly(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != n {
			return usagef("%s takes %s, not %d; write: %s", cmd.CommandPath(), arguments(n), len(args), cmd.UseLine())
		}
		return nil
	}
}

func arguments(n int) string {
	switch n {
	case 0:
		return "no argument"
	case 1:
		return "one argument"
	}
	return fmt.Sprintf("%d arguments", n)
}

func atLeastOne(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usagef("%s takes at least one argument; write: %s", cmd.CommandPath(), cmd.UseLine())
	}
	return nil
}
