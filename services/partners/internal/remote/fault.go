package remote

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"sabha.dev/chassis/egress"
)

// Kind of a failure, which says whether another attempt makes sense.
type Kind string

// The kinds.
const (
	// Unreachable: no connection came about, or it ended before the answer had.
	Unreachable Kind = "unreachable"
	// Forbidden: the address may not be called; the partner sends us elsewhere.
	Forbidden Kind = "forbidden"
	// Credentials: the partner does not take them, or they cannot be had.
	Credentials Kind = "credentials"
	// Limited: we ask too often.
	Limited Kind = "limited"
	// Failed: the partner says that it failed.
	Failed Kind = "failed"
	// Refused: the partner does not take the request.
	Refused Kind = "refused"
	// Gone: the partner does not know the task.
	Gone Kind = "gone"
	// Final: the partner's task can be neither canceled nor continued any more.
	Final Kind = "final"
	// Invalid: the answer is none that the protocol has.
	Invalid Kind = "invalid"
	// TooLarge: the answer is longer than it may be.
	TooLarge Kind = "too_large"
)

// Error is how a call of a partner failed.
type Error struct {
	Kind Kind
	// Message is a sentence that clients may read. It holds nothing of ours that is
	// secret; what the partner said is quoted in it, shortened.
	Message string
	// RetryAfter is when the partner wants to be asked again; 0 if it does not say.
	RetryAfter time.Duration
	// Unsent says that the partner has certainly not seen the request.
	Unsent bool
	cause  error
}

// Error gives the sentence.
func (e *Error) Error() string { return e.Message }

// Cause is what lies behind, for logs, or nil. It is not unwrapped: whoever asks an error
// for a status of gRPC must not find the partner's.
func (e *Error) Cause() error { return e.cause }

// Again tells whether the same call may succeed a little later.
func (e *Error) Again() bool {
	return e.Kind == Unreachable || e.Kind == Limited || e.Kind == Failed
}

func failure(kind Kind, format string, args ...any) *Error {
	return &Error{Kind: kind, Message: fmt.Sprintf(format, args...)}
}

func (e *Error) because(err error) *Error {
	e.cause = err
	return e
}

// KindOf is the kind of an error, or "" for one that is not of a call.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return ""
}

// maxQuote bounds what is quoted of a partner, bytes.
const maxQuote = 200

// quote is what a partner said, on a line and in quotation marks, or nothing.
func quote(said string) string {
	said = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(said, "�"), func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsPrint(r)
	}), " ")
	if said == "" {
		return ""
	}
	if len(said) > maxQuote {
		cut := maxQuote
		for cut > 0 && !utf8.RuneStart(said[cut]) {
			cut--
		}
		said = said[:cut] + "…"
	}
	return fmt.Sprintf("; it says %q", said)
}

// broken is the error of a connection: none came about, or it ended.
func broken(ctx context.Context, err error) error {
	var own *Error
	if errors.As(err, &own) {
		return own
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var refused *egress.Refused
	if errors.As(err, &refused) {
		return errNotPublic()
	}
	return failure(Unreachable, "the partner cannot be reached, or closed the connection before it had answered").because(err)
}

func errNotPublic() *Error {
	return &Error{Kind: Forbidden, Unsent: true, Message: "the partner's address is not public; the agreement opens networks beside public ones with its key networks"}
}
