package binding

import (
	"google.golang.org/grpc/codes"

	"sabha.dev/chassis/fault"
)

// Codes of our own conditions, in the part of -32000 to -32099 that A2A leaves
// free.
const (
	codeMessageIDConflict = -32040
	codeRateLimited       = -32041
	codeTooLarge          = -32042
	codeUnavailable       = -32043
	codeUnauthenticated   = -32044
	codePermissionDenied  = -32045
)

// a2aCodes are the codes of A2A's conditions (specification 5.4).
var a2aCodes = map[fault.Reason]int{
	fault.TaskNotFound:              -32001,
	fault.TaskNotCancelable:         -32002,
	fault.PushNotSupported:          -32003,
	fault.UnsupportedOperation:      -32004,
	fault.ContentTypeNotSupported:   -32005,
	fault.InvalidAgentResponse:      -32006,
	fault.ExtendedCardNotConfigured: -32007,
	fault.ExtensionSupportRequired:  -32008,
	fault.VersionNotSupported:       -32009,
}

var sabhaCodes = map[fault.Reason]int{
	fault.MessageIDConflict: codeMessageIDConflict,
	fault.RateLimited:       codeRateLimited,
	fault.TooLarge:          codeTooLarge,
	fault.Unavailable:       codeUnavailable,
	fault.Unauthenticated:   codeUnauthenticated,
	fault.PermissionDenied:  codePermissionDenied,
	// In JSON-RPC the tenant is a parameter like any other.
	fault.UnknownTenant: codeInvalidParams,
}

// grpcCodes are for a status whose reason says nothing, or that has none.
var grpcCodes = map[codes.Code]int{
	codes.InvalidArgument:    codeInvalidParams,
	codes.OutOfRange:         codeInvalidParams,
	codes.NotFound:           a2aCodes[fault.TaskNotFound],
	codes.FailedPrecondition: a2aCodes[fault.UnsupportedOperation],
	codes.Unimplemented:      a2aCodes[fault.UnsupportedOperation],
	codes.AlreadyExists:      codeMessageIDConflict,
	codes.ResourceExhausted:  codeRateLimited,
	codes.Unavailable:        codeUnavailable,
	codes.Unauthenticated:    codeUnauthenticated,
	codes.PermissionDenied:   codePermissionDenied,
}

// rpcCode is the JSON-RPC code of a problem.
func rpcCode(p problem) int {
	reason := fault.Reason(p.reason)
	switch p.domain {
	case fault.DomainA2A:
		if code, ok := a2aCodes[reason]; ok {
			return code
		}
	case fault.DomainSabha:
		if code, ok := sabhaCodes[reason]; ok {
			return code
		}
	}
	if code, ok := grpcCodes[p.code]; ok {
		return code
	}
	return codeInternal
}

// rpcBodyCode is the code of a body that never became a request object: there
// are no parameters yet that could be invalid.
func rpcBodyCode(err error) int {
	p := diagnose(err)
	if code := rpcCode(p); code != codeInvalidParams {
		return code
	}
	return codeInvalidRequest
}
