package command

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"sabha.dev/chassis/fault"
	"sabha.dev/cmd/sabha/internal/client"
)

// usageError is a command line that makes no sense.
type usageError struct {
	text string
	help string // the command whose help helps
}

func (e *usageError) Error() string { return e.text }

func usagef(format string, args ...any) error { return &usageError{text: fmt.Sprintf(format, args...)} }

// failure is an error with its exit code and what to do about it.
type failure struct {
	code Code
	text string
	next string
}

func (f *failure) Error() string { return f.text }

// explain turns an error into what the user reads and the exit code. keyed
// tells that an API key was given.
func explain(err error, keyed bool) *failure {
	var (
		done        *failure
		usage       *usageError
		unreachable *client.Unreachable
		noCard      *client.NoCard
	)
	switch {
	case errors.As(err, &done):
		return done
	case errors.As(err, &usage):
		f := &failure{code: ExitUsage, text: usage.text}
		if usage.help != "" {
			f.next = "See: " + usage.help + " --help"
		}
		return f
	case errors.As(err, &unreachable):
		return unreached(unreachable)
	case errors.As(err, &noCard):
		return &failure{ExitNotFound, noCard.Error(), "Give the base address of an agent, such as http://127.0.0.1:8080"}
	case errors.Is(err, context.Canceled):
		return &failure{ExitDetached, "interrupted", ""}
	}
	if s, ok := status.FromError(err); ok {
		return answered(s, err, keyed)
	}
	return &failure{code: ExitFailure, text: distinct(err.Error())}
}

func unreached(e *client.Unreachable) *failure {
	f := &failure{code: ExitUnavailable, text: fmt.Sprintf("cannot reach %s: %s", e.Address, cause(e.Err))}
	if e.Advertised {
		f.text = fmt.Sprintf("cannot reach %s, where the card of %s says that gRPC is served: %s", e.Address, e.Server, cause(e.Err))
		f.next = "If the server is behind another address, start it with --public-url so that its card says so"
		return f
	}
	f.next = "Start one with: sabha up\nOr name another with --server or SABHA_SERVER"
	return f
}

// cause is the reason of a network error without its layers.
func cause(err error) string {
	var (
		dns     *net.DNSError
		timeout net.Error
		text    = err.Error()
	)
	switch {
	case strings.Contains(text, "certificate signed by unknown authority"):
		return "its certificate is of an authority that is not trusted; name the authority with --ca or SABHA_CA"
	case strings.Contains(text, "server gave HTTP response to HTTPS client"):
		return "it speaks plain text; call it with http://"
	case errors.Is(err, syscall.ECONNREFUSED), strings.Contains(text, "connection refused"):
		return "connection refused"
	case errors.As(err, &dns):
		return "there is no host of this name"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return "no answer in time"
	}
	return text
}

// answered explains an error that the server has sent.
func answered(s *status.Status, err error, keyed bool) *failure {
	f := &failure{code: ExitFailure, text: s.Message()}
	switch s.Code() {
	case codes.Unauthenticated:
		f.code, f.next = ExitDenied, "Give an API key with --key or SABHA_KEY; sabha up printed one at its first start"
		if keyed {
			f.next = "The API key that was given is not known there; give another with --key or SABHA_KEY"
		}
	case codes.PermissionDenied:
		f.code = ExitDenied
		f.next = "This needs a key with more rights"
	case codes.NotFound:
		f.code = ExitNotFound
	case codes.InvalidArgument, codes.AlreadyExists, codes.FailedPrecondition, codes.OutOfRange:
		f.code = ExitUsage
	case codes.Unavailable, codes.ResourceExhausted, codes.DeadlineExceeded:
		f.code = ExitUnavailable
		if e := fault.FromStatus(err); e != nil && e.RetryAfter > 0 {
			f.next = "Try again in " + e.RetryAfter.String()
		}
	case codes.Unimplemented:
		f.text = "the server does not offer this: " + s.Message()
	case codes.Canceled:
		f.code = ExitDetached
	}
	return f
}

// distinct drops lines that repeat: several services may fail for one reason.
func distinct(text string) string {
	var out []string
	seen := map[string]bool{}
	for l := range strings.SplitSeq(text, "\n") {
		if !seen[l] {
			seen[l] = true
			out = append(out, l)
		}
	}
	return strings.Join(out, "\n")
}
