package console

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"sabha.dev/chassis/clock"
	"sabha.dev/chassis/service"
	"sabha.dev/services/console/internal/account"
)

// Exit codes of the command.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

// stopWithin bounds a graceful stop.
const stopWithin = 15 * time.Second

const usage = `usage:
  console serve         -config FILE
  console migrate       -config FILE
  console check-config  -config FILE
  console health        -config FILE
  console user add NAME -config FILE [-role ROLE]... [-group GROUP]... [-organisation NAME] [-name TEXT] [-stdin]
  console user list     -config FILE
  console user disable NAME  -config FILE [-organisation NAME]
  console user enable NAME   -config FILE [-organisation NAME]
  console user password NAME -config FILE [-organisation NAME] [-stdin]
`

// Main is the console's command. It returns the exit code: 0, 1 for a failure, 2
// for wrong usage.
func Main(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return command{clock: clock.System{}, env: service.Process, in: os.Stdin, out: os.Stdout, err: os.Stderr}.run(ctx, args)
}

type command struct {
	clock    clock.Clock
	env      func() service.Env
	in       io.Reader
	out, err io.Writer
}

// options are what flags say.
type options struct {
	config string
	// account that the command is about.
	account account.Account
	// stdin says that the password is read and not made.
	stdin bool
}

// names is a flag that may be given several times, each with several names.
type names []string

func (n *names) String() string { return strings.Join(*n, ",") }

func (n *names) Set(s string) error {
	*n = append(*n, strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' })...)
	return nil
}

// errUsage is wrong usage that has been explained already.
var errUsage = errors.New("wrong usage")

func (c command) run(ctx context.Context, args []string) int {
	verb, rest := "", args[min(1, len(args)):]
	if len(rest) > 0 {
		verb, rest = rest[0], rest[1:]
	}
	if verb == "user" && len(rest) > 0 {
		verb, rest = "user "+rest[0], rest[1:]
	}
	do, ok := map[string]func(context.Context, Config, options) error{
		"serve": c.serve, "migrate": c.migrate, "check-config": c.checked, "health": c.health,
		"user add": c.addUser, "user list": c.listUsers, "user disable": c.disableUser, "user enable": c.enableUser, "user password": c.setPassword,
	}[verb]
	if !ok {
		_, _ = fmt.Fprint(c.err, usage)
		return exitUsage
	}
	o, err := c.parse(verb, rest)
	if err != nil {
		return exitUsage
	}
	var conf Config
	if err := service.Load(o.config, &conf); err != nil {
		_, _ = fmt.Fprintln(c.err, "configuration:", err)
		return exitUsage
	}
	if err := conf.Check(); err != nil {
		_, _ = fmt.Fprintf(c.err, "configuration: %s: %v\n", o.config, err)
		return exitUsage
	}
	if err := do(ctx, conf, o); err != nil {
		_, _ = fmt.Fprintln(c.err, err)
		return exitFailed
	}
	return exitOK
}

func (c command) parse(verb string, args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("console "+verb, flag.ContinueOnError)
	flags.SetOutput(c.err)
	flags.StringVar(&o.config, "config", "", "configuration file (YAML)")
	about := strings.HasPrefix(verb, "user ") && verb != "user list"
	if about {
		flags.StringVar(&o.account.Organisation, "organisation", "", "the organisation of the person; with the name it says whose API keys are theirs")
	}
	if verb == "user add" {
		flags.StringVar(&o.account.Name, "name", "", "the name that is shown")
		flags.Var((*names)(&o.account.Roles), "role", "what the person may do: viewer, reviewer, operator, auditor, admin; may be repeated")
		flags.Var((*names)(&o.account.Groups), "group", "a group that the person belongs to; may be repeated")
	}
	if verb == "user add" || verb == "user password" {
		flags.BoolVar(&o.stdin, "stdin", false, "read the password from standard input; else one is made, which has to be changed at the first sign-in")
	}
	if about && len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		o.account.Subject, args = args[0], args[1:]
	}
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	switch {
	case flags.NArg() > 0:
		_, _ = fmt.Fprintf(c.err, "%q is not understood\n", flags.Arg(0))
	case o.config == "":
		_, _ = fmt.Fprintln(c.err, "-config is missing")
	case about && o.account.Subject == "":
		_, _ = fmt.Fprintf(c.err, "the name is missing: console %s NAME\n", verb)
	default:
		return o, nil
	}
	return o, errUsage
}

func (c command) serve(ctx context.Context, conf Config, _ options) error {
	service.Tune()
	env := c.env()
	r, err := Start(ctx, conf, env)
	if err != nil {
		return err
	}
	env.Log.Info("serving", "service", name, "address", r.Addr())
	select {
	case <-ctx.Done():
	case err = <-r.Failed():
	}
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWithin)
	defer cancel()
	return errors.Join(err, r.Stop(stop))
}

func (c command) migrate(ctx context.Context, conf Config, _ options) error {
	db, err := openDB(ctx, conf, false)
	if err != nil {
		return err
	}
	return db.Close()
}

func (c command) checked(context.Context, Config, options) error {
	_, err := fmt.Fprintln(c.err, "configuration is good")
	return err
}

func (c command) health(ctx context.Context, conf Config, _ options) error {
	return service.Health(ctx, conf.HTTP)
}
