package fault

import (
	"context"
	"errors"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"

	"sabha.dev/chassis/outage"
)

// Domains of ErrorInfo: the specification's own conditions, and ours.
const (
	DomainA2A   = "a2a-protocol.org"
	DomainSabha = "sabha"
)

var reasons = map[Reason]struct {
	code   codes.Code
	domain string
}{
	TaskNotFound:              {codes.NotFound, DomainA2A},
	TaskNotCancelable:         {codes.FailedPrecondition, DomainA2A},
	PushNotSupported:          {codes.FailedPrecondition, DomainA2A},
	UnsupportedOperation:      {codes.FailedPrecondition, DomainA2A},
	ContentTypeNotSupported:   {codes.InvalidArgument, DomainA2A},
	InvalidAgentResponse:      {codes.Internal, DomainA2A},
	ExtendedCardNotConfigured: {codes.FailedPrecondition, DomainA2A},
	ExtensionSupportRequired:  {codes.FailedPrecondition, DomainA2A},
	VersionNotSupported:       {codes.FailedPrecondition, DomainA2A},
	InvalidArgument:           {codes.InvalidArgument, DomainSabha},
	MessageIDConflict:         {codes.AlreadyExists, DomainSabha},
	RateLimited:               {codes.ResourceExhausted, DomainSabha},
	TooLarge:                  {codes.ResourceExhausted, DomainSabha},
	Unavailable:               {codes.Unavailable, DomainSabha},
	Unauthenticated:           {codes.Unauthenticated, DomainSabha},
	PermissionDenied:          {codes.PermissionDenied, DomainSabha},
	UnknownSkill:              {codes.InvalidArgument, DomainSabha},
	UnknownTenant:             {codes.NotFound, DomainSabha},
	ItemNotFound:              {codes.NotFound, DomainSabha},
	ItemChanged:               {codes.Aborted, DomainSabha},
	ItemHeld:                  {codes.FailedPrecondition, DomainSabha},
	ItemAsked:                 {codes.FailedPrecondition, DomainSabha},
	ItemDecided:               {codes.FailedPrecondition, DomainSabha},
	NotPermitted:              {codes.PermissionDenied, DomainSabha},
	PartnerNotFound:           {codes.NotFound, DomainSabha},
	PartnerExists:             {codes.AlreadyExists, DomainSabha},
	PartnerChanged:            {codes.Aborted, DomainSabha},
	PartnerState:              {codes.FailedPrecondition, DomainSabha},
	CardRefused:               {codes.FailedPrecondition, DomainSabha},
	ToolNotFound:              {codes.NotFound, DomainSabha},
	ToolChanged:               {codes.Aborted, DomainSabha},
}

// Status gives the gRPC status of an error. Errors that are not made for
// clients become INTERNAL with a sentence that reveals nothing; a status that
// another service of the platform returned passes as it is.
func Status(err error) *status.Status {
	if err == nil {
		return nil
	}
	if e := As(err); e != nil {
		return e.status()
	}
	if outage.Of(err) {
		return noDatabase.status()
	}
	switch {
	case errors.Is(err, context.Canceled):
		return status.New(codes.Canceled, "the caller went away")
	case errors.Is(err, context.DeadlineExceeded):
		return status.New(codes.DeadlineExceeded, "the call took longer than its deadline")
	}
	if s, ok := status.FromError(err); ok && s.Code() != codes.Unknown {
		return s
	}
	return status.New(codes.Internal, "internal error; the operator finds it in the log by trace id")
}

// noDatabase is what clients read of an outage.
var noDatabase = New(Unavailable, "the service cannot use its database at the moment; try again")

func (e *Error) status() *status.Status {
	kind, ok := reasons[e.Reason]
	if !ok {
		kind.code, kind.domain = codes.Internal, DomainSabha
	}
	s := status.New(kind.code, e.Message)
	details := []protoadapt.MessageV1{&errdetails.ErrorInfo{Reason: string(e.Reason), Domain: kind.domain, Metadata: e.Meta}}
	if len(e.Fields) > 0 {
		bad := &errdetails.BadRequest{}
		for _, f := range e.Fields {
			bad.FieldViolations = append(bad.FieldViolations, &errdetails.BadRequest_FieldViolation{Field: f.Path, Description: f.Problem})
		}
		details = append(details, bad)
	}
	if e.RetryAfter > 0 {
		details = append(details, &errdetails.RetryInfo{RetryDelay: durationpb.New(e.RetryAfter)})
	}
	if with, err := s.WithDetails(details...); err == nil {
		return with
	}
	return s
}

// FromStatus recovers the client-visible error that a service of the platform
// sent, so that its reason can be branched on. It returns nil for any other error.
func FromStatus(err error) *Error {
	s, ok := status.FromError(err)
	if !ok || s.Code() == codes.OK {
		return nil
	}
	e := &Error{Message: s.Message(), cause: err}
	for _, d := range s.Details() {
		switch d := d.(type) {
		case *errdetails.ErrorInfo:
			e.Reason, e.Meta = Reason(d.GetReason()), d.GetMetadata()
		case *errdetails.BadRequest:
			for _, v := range d.GetFieldViolations() {
				e.Fields = append(e.Fields, Field{Path: v.GetField(), Problem: v.GetDescription()})
			}
		case *errdetails.RetryInfo:
			e.RetryAfter = d.GetRetryDelay().AsDuration()
		}
	}
	if e.Reason == "" {
		return nil
	}
	return e
}
