// Package outage tells errors of a database that pass by themselves: it cannot be
// reached, the connection broke off, transactions were in each other's way. What
// failed so may be tried again, and says nothing about the data.
package outage

import (
	"context"
	"database/sql/driver"
	"errors"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// ErrNoAnswer says that the database did not answer in time.
var ErrNoAnswer = errors.New("the database did not answer in time")

// Of tells whether an error means that the database is not to be had at the moment.
func Of(err error) bool {
	var (
		broken  *lost
		refused *pgconn.PgError
		connect *pgconn.ConnectError
	)
	switch {
	case err == nil:
		return false
	case errors.Is(err, ErrNoAnswer), errors.Is(err, driver.ErrBadConn), errors.Is(err, pgconn.ErrConnClosed), errors.As(err, &broken):
		return true
	case errors.As(err, &refused):
		return passes(refused.Code)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return false // it was the caller who gave up
	}
	return errors.As(err, &connect)
}

// passes tells which conditions of PostgreSQL pass by themselves.
func passes(code string) bool {
	switch code {
	case "57P01", "57P02", "57P03", // the server stops, has crashed, is starting
		"53300",          // it has no connection left
		"25006",          // it is a standby that is about to be the primary, or was
		"57014", "25P03", // the statement or transaction took longer than the server allows
		"55P03": // a lock was not to be had in time
		return true
	}
	return strings.HasPrefix(code, "08") || Conflict(&pgconn.PgError{Code: code})
}

// Conflict tells whether transactions were in each other's way: a deadlock, or no
// order of them that would be right. It is over when the transaction is.
func Conflict(err error) bool {
	var refused *pgconn.PgError
	return errors.As(err, &refused) && (refused.Code == "40P01" || refused.Code == "40001")
}

// Dial marks the errors of the connections that a dialer makes, so that Of knows
// them from those of other connections.
func Dial(dial pgconn.DialFunc) pgconn.DialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		if err != nil {
			return nil, err // pgconn.ConnectError names it
		}
		return &conn{c}, nil
	}
}

type conn struct{ net.Conn }

func (c *conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	return n, mark(err)
}

func (c *conn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	return n, mark(err)
}

// mark leaves time-outs as they are: the driver makes them itself to give up.
func mark(err error) error {
	var slow net.Error
	if err == nil || (errors.As(err, &slow) && slow.Timeout()) {
		return err
	}
	return &lost{err}
}

// lost is the error of a connection to the database that broke off.
type lost struct{ err error }

// Error says so.
func (l *lost) Error() string { return "the connection to the database broke off: " + l.err.Error() }

// Unwrap gives the cause.
func (l *lost) Unwrap() error { return l.err }
