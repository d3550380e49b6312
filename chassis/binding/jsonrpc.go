package binding

import (
	"context"
	"net/http"
	"strconv"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/emptypb"

	"sabha.dev/chassis/fault"
)

// rpcMethod is an operation by its JSON-RPC name (specification 5.3).
type rpcMethod struct {
	path     string
	kind     kind
	request  func() proto.Message
	response func() proto.Message
}

func methodOf[Request, Response any, PRequest message[Request], PResponse message[Response]](path string, k kind) rpcMethod {
	return rpcMethod{
		path: path, kind: k,
		request:  func() proto.Message { return PRequest(new(Request)) },
		response: func() proto.Message { return PResponse(new(Response)) },
	}
}

type message[T any] interface {
	*T
	proto.Message
}

var rpcMethods = map[string]rpcMethod{
	"SendMessage":          methodOf[a2apb.SendMessageRequest, a2apb.SendMessageResponse](a2apb.A2AService_SendMessage_FullMethodName, unaryKind),
	"SendStreamingMessage": methodOf[a2apb.SendMessageRequest, a2apb.StreamResponse](a2apb.A2AService_SendStreamingMessage_FullMethodName, streamKind),
	"GetTask":              methodOf[a2apb.GetTaskRequest, a2apb.Task](a2apb.A2AService_GetTask_FullMethodName, unaryKind),
	"ListTasks":            methodOf[a2apb.ListTasksRequest, a2apb.ListTasksResponse](a2apb.A2AService_ListTasks_FullMethodName, unaryKind),
	"CancelTask":           methodOf[a2apb.CancelTaskRequest, a2apb.Task](a2apb.A2AService_CancelTask_FullMethodName, unaryKind),
	"SubscribeToTask":      methodOf[a2apb.SubscribeToTaskRequest, a2apb.StreamResponse](a2apb.A2AService_SubscribeToTask_FullMethodName, subscribeKind),
	"GetExtendedAgentCard": methodOf[a2apb.GetExtendedAgentCardRequest, a2apb.AgentCard](a2apb.A2AService_GetExtendedAgentCard_FullMethodName, unaryKind),

	"CreateTaskPushNotificationConfig": methodOf[a2apb.TaskPushNotificationConfig, a2apb.TaskPushNotificationConfig](a2apb.A2AService_CreateTaskPushNotificationConfig_FullMethodName, unaryKind),
	"GetTaskPushNotificationConfig":    methodOf[a2apb.GetTaskPushNotificationConfigRequest, a2apb.TaskPushNotificationConfig](a2apb.A2AService_GetTaskPushNotificationConfig_FullMethodName, unaryKind),
	"ListTaskPushNotificationConfigs":  methodOf[a2apb.ListTaskPushNotificationConfigsRequest, a2apb.ListTaskPushNotificationConfigsResponse](a2apb.A2AService_ListTaskPushNotificationConfigs_FullMethodName, unaryKind),
	"DeleteTaskPushNotificationConfig": methodOf[a2apb.DeleteTaskPushNotificationConfigRequest, emptypb.Empty](a2apb.A2AService_DeleteTaskPushNotificationConfig_FullMethodName, unaryKind),
}

// rpc serves one JSON-RPC request (specification section 9). Errors are answered
// with 200 and an error object, with two exceptions: missing credentials are a
// 401, for the sake of the challenge; and where a stream was asked for the answer
// has the status of the error, because clients take a 200 for the stream.
func (x *exchange) rpc(tenant string) {
	x.mediaType = typeJSON
	body, err := x.readBody()
	if err != nil {
		x.rpcRefuse(null, diagnose(err), rpcBodyCode(err), unaryKind)
		return
	}
	call, broken := parseRequest(body)
	if broken != nil {
		x.send(typeJSON, http.StatusOK, appendRPCError(nil, call.id, broken.code, broken.message, nil))
		return
	}
	method, known := rpcMethods[call.method]
	if x.Older != nil && !known {
		if op, ok := x.Older.Methods[call.method]; ok {
			x.rpcOlder(call, &op, tenant)
			return
		}
	}
	if !known {
		x.send(typeJSON, http.StatusOK, appendRPCError(nil, call.id, codeNoMethod, "Method not found: "+strconv.Quote(call.method), nil))
		return
	}
	f := x.rpcForm(call.id, method)
	request := method.request()
	err = decodeParams(call.params, request)
	var md metadata.MD
	if err == nil {
		md, err = callMetadata(x.r, method.kind)
	}
	if err != nil {
		f.fail(err)
		return
	}
	if tenant != "" {
		setTenant(request, tenant)
	}
	ctx, cancel := context.WithCancel(metadata.NewOutgoingContext(x.r.Context(), md))
	defer cancel()
	x.invoke(ctx, f, request)
}

// rpcOlder serves one request of an older version.
func (x *exchange) rpcOlder(call rpcRequest, op *Operation, tenant string) {
	f := x.rpcForm(call.id, rpcMethods[op.Name])
	f.extensions = "X-A2A-Extensions"
	f.encode = func(b []byte, m proto.Message) ([]byte, error) {
		encoded, err := op.Encode(m)
		if len(encoded) == 0 {
			encoded = null
		}
		return append(b, encoded...), err
	}
	x.plain = version(x.r) == ""
	if f.method.kind != unaryKind {
		f.fail = func(err error) { x.rpcFailStream(call.id, err, f) }
	}
	md, err := x.olderMetadata(f.method.kind)
	if err != nil {
		f.fail(err)
		return
	}
	x.translate(op, Input{Body: call.params}, md, tenant, f)
}

// rpcFailStream answers an error before the first event as a stream that consists of
// it: clients of that time read the error there, and nothing of another answer. Bad
// credentials stay a 401, for the sake of the challenge.
func (x *exchange) rpcFailStream(id []byte, err error, f form) {
	p := diagnose(err)
	if p.code == codes.Unauthenticated {
		x.rpcRefuse(id, p, rpcCode(p), f.method.kind)
		return
	}
	x.report(p)
	x.headers(p)
	x.w.Header().Set("Cache-Control", "no-cache")
	x.send(typeStream, http.StatusOK, f.frame(p))
}

// rpcForm is how answers to a JSON-RPC request are written.
func (x *exchange) rpcForm(id []byte, method rpcMethod) form {
	return form{
		method: method, extensions: "A2A-Extensions", around: rpcEnvelope(id), encode: appendMessage,
		fail: func(err error) { x.rpcFail(id, err, method.kind) },
		frame: func(p problem) []byte {
			return appendFrame(nil, "", x.appendRPC(nil, id, p, rpcCode(p)))
		},
	}
}

// decodeParams takes parameters by name only; A2A's are message objects.
func decodeParams(params []byte, request proto.Message) error {
	if len(params) > 0 && params[0] != '{' && params[0] != 'n' {
		return fault.Invalid("params", "must be an object with the fields of %s", request.ProtoReflect().Descriptor().Name())
	}
	return decode("params", params, request)
}

// setTenant lets the path decide, as it does in HTTP+JSON.
func setTenant(request proto.Message, tenant string) {
	m := request.ProtoReflect()
	m.Set(m.Descriptor().Fields().ByName("tenant"), protoreflect.ValueOfString(tenant))
}

func rpcEnvelope(id []byte) *envelope {
	head := append([]byte(`{"jsonrpc":"2.0","id":`), id...)
	return &envelope{head: append(head, `,"result":`...), tail: []byte{'}'}}
}

func (x *exchange) rpcFail(id []byte, err error, k kind) {
	p := diagnose(err)
	x.rpcRefuse(id, p, rpcCode(p), k)
}

func (x *exchange) rpcRefuse(id []byte, p problem, code int, k kind) {
	x.report(p)
	x.headers(p)
	status := http.StatusOK
	if k != unaryKind || p.code == codes.Unauthenticated {
		status = p.http
	}
	x.send(typeJSON, status, x.appendRPC(nil, id, p, code))
}

// appendRPC appends the response object of a problem.
func (x *exchange) appendRPC(b, id []byte, p problem, code int) []byte {
	data := p.appendDetails(nil)
	if x.plain {
		data = append(append([]byte(`{"details":`), data...), '}')
	}
	return appendRPCError(b, id, code, p.message, data)
}

// appendRPCError appends a response object with an error; data may be nil.
func appendRPCError(b, id []byte, code int, message string, data []byte) []byte {
	b = append(b, `{"jsonrpc":"2.0","id":`...)
	b = append(b, id...)
	b = append(b, `,"error":`...)
	return append(appendError(b, code, message, data), '}')
}

// appendError appends an error object; data may be nil.
func appendError(b []byte, code int, message string, data []byte) []byte {
	b = append(b, `{"code":`...)
	b = strconv.AppendInt(b, int64(code), 10)
	b = append(b, `,"message":`...)
	b = appendString(b, message)
	if data != nil {
		b = append(b, `,"data":`...)
		b = append(b, data...)
	}
	return append(b, '}')
}
