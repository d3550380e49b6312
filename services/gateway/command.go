package gateway

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
	"text/tabwriter"
	"time"

	"sabha.dev/chassis/clock"
	"sabha.dev/chassis/identity"
	"sabha.dev/chassis/service"
	"sabha.dev/services/gateway/internal/callers"
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
  gateway serve        -config FILE
  gateway migrate      -config FILE
  gateway check-config -config FILE
  gateway health       -config FILE
  gateway keys create  -config FILE -subject NAME [-organisation NAME] [-scopes operator,auditor]
  gateway keys list    -config FILE
  gateway keys revoke  -config FILE -id ID
`

// Main is the gateway's command. It returns the exit code: 0, 1 for a failure, 2
// for wrong usage.
func Main(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return command{clock: clock.System{}, env: service.Process, out: os.Stdout, err: os.Stderr}.run(ctx, args)
}

type command struct {
	clock    clock.Clock
	env      func() service.Env
	out, err io.Writer
}

// options are what flags say.
type options struct {
	config, id string
	owner      identity.Principal
}

// errUsage is wrong usage that has been explained already.
var errUsage = errors.New("wrong usage")

func (c command) run(ctx context.Context, args []string) int {
	verb, rest := "", args[min(1, len(args)):]
	if len(rest) > 0 {
		verb, rest = rest[0], rest[1:]
	}
	if verb == "keys" && len(rest) > 0 {
		verb, rest = "keys "+rest[0], rest[1:]
	}
	do, ok := map[string]func(context.Context, Config, options) error{
		"serve": c.serve, "migrate": c.migrate, "check-config": c.checked, "health": c.health,
		"keys create": c.create, "keys list": c.list, "keys revoke": c.revoke,
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
	var (
		o      options
		scopes string
	)
	flags := flag.NewFlagSet("gateway "+verb, flag.ContinueOnError)
	flags.SetOutput(c.err)
	flags.StringVar(&o.config, "config", "", "configuration file (YAML)")
	required := map[string]*string{"config": &o.config}
	switch verb {
	case "keys create":
		flags.StringVar(&o.owner.Subject, "subject", "", "who the key is for: the stable name under which tasks are owned, in the console too")
		flags.StringVar(&o.owner.Organisation, "organisation", "", "the organisation that the subject belongs to; with the subject it says who the person is")
		flags.StringVar(&scopes, "scopes", "", "what the key grants beside its owner's tasks, comma-separated: viewer, reviewer, operator, auditor, admin, group:NAME")
		required["subject"] = &o.owner.Subject
	case "keys revoke":
		flags.StringVar(&o.id, "id", "", "the key's id, as keys list shows it")
		required["id"] = &o.id
	}
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		_, _ = fmt.Fprintf(c.err, "%q is not understood\n", flags.Arg(0))
		return o, errUsage
	}
	for name, value := range required {
		if *value == "" {
			_, _ = fmt.Fprintf(c.err, "-%s is missing\n", name)
			return o, errUsage
		}
	}
	o.owner.Scopes = strings.FieldsFunc(scopes, func(r rune) bool { return r == ',' || r == ' ' })
	return o, nil
}

func (c command) serve(ctx context.Context, conf Config, _ options) error {
	service.Tune()
	env := c.env()
	r, err := Start(ctx, conf, env)
	if err != nil {
		return err
	}
	env.Log.Info("serving", "service", name, "grpc", r.GRPCAddr(), "http", r.HTTPAddr(), "public_url", r.PublicURL())
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

// withKeys opens the keys of a configuration for as long as use takes.
func (c command) withKeys(ctx context.Context, conf Config, use func(*callers.Store) error) error {
	db, err := openDB(ctx, conf, true)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	return use(callers.New(db, c.clock, c.env().Log))
}

func (c command) create(ctx context.Context, conf Config, o options) error {
	return c.withKeys(ctx, conf, func(s *callers.Store) error {
		k, secret, err := s.Create(ctx, o.owner)
		if err != nil {
			return err
		}
		// The key alone on standard output, so that scripts can take it.
		_, _ = fmt.Fprintf(c.err, "key %s of %s; it is shown only now:\n", k.ID, k.Principal.Key())
		_, err = fmt.Fprintln(c.out, secret)
		return err
	})
}

func (c command) list(ctx context.Context, conf Config, _ options) error {
	return c.withKeys(ctx, conf, func(s *callers.Store) error {
		keys, err := s.List(ctx)
		if err != nil {
			return err
		}
		w := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
		_, _ = fmt.Fprintln(w, "ID\tOWNER\tSCOPES\tCREATED\tLAST USED\tREVOKED")
		for _, k := range keys {
			revoked := ""
			if !k.Revoked.IsZero() {
				revoked = k.Revoked.Format(time.RFC3339)
			}
			_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n",
				k.ID, k.Principal.Key(), strings.Join(k.Principal.Scopes, ","), k.Created.Format(time.RFC3339), k.LastUsed, revoked)
		}
		return w.Flush()
	})
}

func (c command) revoke(ctx context.Context, conf Config, o options) error {
	return c.withKeys(ctx, conf, func(s *callers.Store) error {
		if err := s.Revoke(ctx, o.id); err != nil {
			return err
		}
		_, err := fmt.Fprintf(c.err, "key %s no longer works; gateways that run learn it within %v\n", o.id, callers.Freshness)
		return err
	})
}
