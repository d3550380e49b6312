package console

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"sabha.dev/services/console/internal/account"
	"sabha.dev/services/console/internal/session"
	"sabha.dev/services/console/internal/sqlstore"
)

// withUsers opens the accounts of a configuration for as long as use takes.
func (c command) withUsers(ctx context.Context, conf Config, use func(*account.Directory, *session.Keeper) error) error {
	db, err := openDB(ctx, conf, true)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	store := sqlstore.New(db)
	return use(account.New(store, c.clock), session.New(store, conf.limits(), c.clock))
}

// password is the one that is read, or empty to have one made.
func (c command) password(o options) (string, error) {
	if !o.stdin {
		return "", nil
	}
	line, err := bufio.NewReader(c.in).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("standard input: %w", err)
	}
	if line = strings.TrimRight(line, "\r\n"); line == "" {
		return "", errors.New("standard input holds no password")
	}
	return line, nil
}

// told prints a password that was made, alone on standard output, so that scripts can take it.
func (c command) told(a account.Account, made string) error {
	if made == "" {
		_, err := fmt.Fprintf(c.err, "the password of %s is the one that was read\n", a.Full())
		return err
	}
	_, _ = fmt.Fprintf(c.err, "%s signs in with this password, which is shown only now and has to be changed then:\n", a.Full())
	_, err := fmt.Fprintln(c.out, made)
	return err
}

func (c command) addUser(ctx context.Context, conf Config, o options) error {
	password, err := c.password(o)
	if err != nil {
		return err
	}
	return c.withUsers(ctx, conf, func(people *account.Directory, _ *session.Keeper) error {
		made, err := people.Add(ctx, o.account, password)
		if err != nil {
			return err
		}
		return c.told(o.account, made)
	})
}

func (c command) listUsers(ctx context.Context, conf Config, _ options) error {
	return c.withUsers(ctx, conf, func(people *account.Directory, _ *session.Keeper) error {
		all, err := people.All(ctx)
		if err != nil {
			return err
		}
		w := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
		_, _ = fmt.Fprintln(w, "SIGNS IN AS\tNAME\tROLES\tGROUPS\tBY\tLAST SIGN-IN\tDISABLED")
		for _, a := range all {
			last, disabled := "", ""
			if !a.SignedIn.IsZero() {
				last = a.SignedIn.Format(time.RFC3339)
			}
			if a.Disabled {
				disabled = "yes"
			}
			_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", a.Full(), a.Display(), strings.Join(a.Roles, ","), strings.Join(a.Groups, ","), a.Source, last, disabled)
		}
		return w.Flush()
	})
}

func (c command) disableUser(ctx context.Context, conf Config, o options) error {
	return c.able(ctx, conf, o, true)
}

func (c command) enableUser(ctx context.Context, conf Config, o options) error {
	return c.able(ctx, conf, o, false)
}

// able disables an account or enables it again.
func (c command) able(ctx context.Context, conf Config, o options, disabled bool) error {
	return c.withUsers(ctx, conf, func(people *account.Directory, sessions *session.Keeper) error {
		a, err := people.Account(ctx, o.account.Organisation, o.account.Subject)
		if err != nil {
			return err
		}
		a.Disabled = disabled
		if err := people.Change(ctx, a); err != nil {
			return err
		}
		if !disabled {
			_, err = fmt.Fprintf(c.err, "%s may sign in again\n", a.Full())
			return err
		}
		if err := sessions.EndAll(ctx, a.Organisation, a.Subject, ""); err != nil {
			return err
		}
		_, err = fmt.Fprintf(c.err, "%s no longer signs in, and their sessions have ended; API keys are revoked apart, with: gateway keys revoke\n", a.Full())
		return err
	})
}

func (c command) setPassword(ctx context.Context, conf Config, o options) error {
	password, err := c.password(o)
	if err != nil {
		return err
	}
	return c.withUsers(ctx, conf, func(people *account.Directory, sessions *session.Keeper) error {
		made, err := people.SetPassword(ctx, o.account.Organisation, o.account.Subject, password)
		if err == nil {
			err = sessions.EndAll(ctx, o.account.Organisation, o.account.Subject, "")
		}
		if err != nil {
			return err
		}
		return c.told(o.account, made)
	})
}
