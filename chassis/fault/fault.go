// Package fault holds the errors that domain code returns and a client may
// see. It knows the conditions of the A2A specification and of the platform,
// not how a binding spells them; Status does that in one place.
package fault

import (
	"errors"
	"fmt"
	"time"
)

// Reason names a condition a client can branch on (google.rpc.ErrorInfo.reason).
type Reason string

// Conditions of the A2A specification (3.3.2, 5.4). Their domain is a2a-protocol.org.
const (
	TaskNotFound              Reason = "TASK_NOT_FOUND"
	TaskNotCancelable         Reason = "TASK_NOT_CANCELABLE"
	PushNotSupported          Reason = "PUSH_NOTIFICATION_NOT_SUPPORTED"
	UnsupportedOperation      Reason = "UNSUPPORTED_OPERATION"
	ContentTypeNotSupported   Reason = "CONTENT_TYPE_NOT_SUPPORTED"
	InvalidAgentResponse      Reason = "INVALID_AGENT_RESPONSE"
	ExtendedCardNotConfigured Reason = "EXTENDED_AGENT_CARD_NOT_CONFIGURED"
	ExtensionSupportRequired  Reason = "EXTENSION_SUPPORT_REQUIRED"
	VersionNotSupported       Reason = "VERSION_NOT_SUPPORTED"
)

// Conditions of the platform. Their domain is "sabha".
const (
	InvalidArgument   Reason = "INVALID_ARGUMENT"
	MessageIDConflict Reason = "MESSAGE_ID_CONFLICT"
	RateLimited       Reason = "RATE_LIMITED"
	TooLarge          Reason = "TOO_LARGE"
	Unavailable       Reason = "UNAVAILABLE"
	Unauthenticated   Reason = "UNAUTHENTICATED"
	PermissionDenied  Reason = "PERMISSION_DENIED"
	UnknownSkill      Reason = "UNKNOWN_SKILL"
	UnknownTenant     Reason = "UNKNOWN_TENANT"
	// Of an item that waits for a person: it is not there, it is not what the person was
	// shown, another holds it, a question about it is open, it has ended, or this person
	// may not decide on it.
	ItemNotFound Reason = "ITEM_NOT_FOUND"
	ItemChanged  Reason = "ITEM_CHANGED"
	ItemHeld     Reason = "ITEM_HELD"
	ItemAsked    Reason = "ITEM_ASKED"
	ItemDecided  Reason = "ITEM_DECIDED"
	NotPermitted Reason = "NOT_PERMITTED"
	// Of a partner, an agent of another organisation: it is not there, it is there already,
	// it is not what the person was shown, its state does not allow what is asked, or its
	// card cannot be taken.
	PartnerNotFound Reason = "PARTNER_NOT_FOUND"
	PartnerExists   Reason = "PARTNER_EXISTS"
	PartnerChanged  Reason = "PARTNER_CHANGED"
	PartnerState    Reason = "PARTNER_STATE"
	CardRefused     Reason = "CARD_REFUSED"
	// Of a tool of an MCP server: nobody has listed it, or it is not what the person was shown.
	ToolNotFound Reason = "TOOL_NOT_FOUND"
	ToolChanged  Reason = "TOOL_CHANGED"
)

// Field is one part of a request that is wrong, and why.
type Field struct {
	// Path as the client wrote it, for example "message.parts[0]".
	Path string
	// Problem is a sentence that says what to do.
	Problem string
}

// Error is a condition that a client sees: a reason to branch on and a sentence
// that helps.
type Error struct {
	Reason     Reason
	Message    string
	Fields     []Field
	Meta       map[string]string
	RetryAfter time.Duration
	cause      error
}

// Error gives the sentence.
func (e *Error) Error() string {
	if e.cause != nil {
		return fmt.Sprintf("%s (%v)", e.Message, e.cause)
	}
	return e.Message
}

// Unwrap gives the cause, which is for logs and never reaches a client.
func (e *Error) Unwrap() error { return e.cause }

// Because attaches the cause for logs.
func (e *Error) Because(cause error) *Error {
	c := *e
	c.cause = cause
	return &c
}

// With adds a key that clients may read to ErrorInfo.metadata.
func (e *Error) With(key, value string) *Error {
	c := *e
	c.Meta = make(map[string]string, len(e.Meta)+1)
	for k, v := range e.Meta {
		c.Meta[k] = v
	}
	c.Meta[key] = value
	return &c
}

// New makes an error of a reason with a formatted sentence.
func New(reason Reason, format string, args ...any) *Error {
	return &Error{Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// Invalid says that one field of the request is wrong and what to do about it.
func Invalid(path, format string, args ...any) *Error {
	problem := fmt.Sprintf(format, args...)
	return &Error{
		Reason:  InvalidArgument,
		Message: path + ": " + problem,
		Fields:  []Field{{Path: path, Problem: problem}},
	}
}

// NoTask is the answer for a task that is missing and for one that belongs to
// another caller: the two cannot be told apart (specification 13.1).
func NoTask(id string) *Error {
	return New(TaskNotFound, "task %q does not exist or is not yours", id).With("taskId", id)
}

// As finds the client-visible error in a chain, or nil.
func As(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return nil
}

// Is tells whether the chain holds an error of this reason.
func Is(err error, reason Reason) bool {
	e := As(err)
	return e != nil && e.Reason == reason
}
