// Package people passes what people do through the platform's edge on to the services
// behind it, over gRPC and as HTTP+JSON. Who may do it is decided there, by the scopes of
// the call.
package people

import (
	"context"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/identity"
	executorgw "sabha.dev/gen/executorgw/sabha/executor/v1"
	partnersgw "sabha.dev/gen/partnersgw/sabha/partners/v1"
	registrygw "sabha.dev/gen/registrygw/sabha/registry/v1"
	reviewgw "sabha.dev/gen/reviewgw/sabha/review/v1"
	executorv1 "sabha.dev/gen/sabha/executor/v1"
	partnersv1 "sabha.dev/gen/sabha/partners/v1"
	registryv1 "sabha.dev/gen/sabha/registry/v1"
	reviewv1 "sabha.dev/gen/sabha/review/v1"
)

// Service behind the edge that serves people.
type Service struct {
	// Name on the platform.
	Name string
	// Path is where HTTP+JSON begins.
	Path string
	// Contracts are the gRPC services that are passed on; their streams are not.
	Contracts []grpc.ServiceDesc
	// away is what people are told while it cannot be reached.
	away string
	rest []func(context.Context, *runtime.ServeMux, *grpc.ClientConn) error
}

// Services that serve people.
func Services() []Service {
	return []Service{
		{
			Name: "review", Path: "/v1/review/", away: "reviews cannot be reached at the moment; try again later",
			Contracts: []grpc.ServiceDesc{reviewv1.ReviewService_ServiceDesc, reviewv1.DiscussionService_ServiceDesc},
			rest:      []func(context.Context, *runtime.ServeMux, *grpc.ClientConn) error{reviewgw.RegisterReviewServiceHandler, reviewgw.RegisterDiscussionServiceHandler},
		},
		{
			Name: "executor", Path: "/v1/tools/", away: "tools cannot be reached at the moment; try again later",
			Contracts: []grpc.ServiceDesc{executorv1.ToolService_ServiceDesc},
			rest:      []func(context.Context, *runtime.ServeMux, *grpc.ClientConn) error{executorgw.RegisterToolServiceHandler},
		},
		{
			Name: "partners", Path: "/v1/registry/", away: "the registry cannot be reached at the moment; try again later",
			Contracts: []grpc.ServiceDesc{registryv1.RegistryService_ServiceDesc, registryv1.DirectoryService_ServiceDesc},
			rest:      []func(context.Context, *runtime.ServeMux, *grpc.ClientConn) error{registrygw.RegisterRegistryServiceHandler, registrygw.RegisterDirectoryServiceHandler},
		},
		{
			Name: "partners", Path: "/v1/partners/", away: "partners cannot be reached at the moment; try again later",
			Contracts: []grpc.ServiceDesc{partnersv1.AttainmentService_ServiceDesc, partnersv1.ContractService_ServiceDesc, partnersv1.CrossingService_ServiceDesc},
			rest: []func(context.Context, *runtime.ServeMux, *grpc.ClientConn) error{
				partnersgw.RegisterAttainmentServiceHandler, partnersgw.RegisterContractServiceHandler, partnersgw.RegisterCrossingServiceHandler,
			},
		},
	}
}

// Register serves the contracts on a server, over a connection to who has them.
func (s Service) Register(to grpc.ServiceRegistrar, conn grpc.ClientConnInterface) {
	for _, d := range s.Contracts {
		passing := grpc.ServiceDesc{ServiceName: d.ServiceName, HandlerType: (*any)(nil), Metadata: d.Metadata}
		for _, m := range d.Streams { // they are there so that the policy refuses them
			m.Handler = func(any, grpc.ServerStream) error {
				return status.Error(codes.Unimplemented, "streams are not passed on")
			}
			passing.Streams = append(passing.Streams, m)
		}
		for _, m := range d.Methods {
			passing.Methods = append(passing.Methods, grpc.MethodDesc{MethodName: m.MethodName, Handler: s.pass(conn, d.ServiceName, m.MethodName)})
		}
		to.RegisterService(&passing, struct{}{})
	}
}

// types of a method's request and answer, which the generated code has registered.
func types(service, method string) (req, res protoreflect.MessageType) {
	d, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(service))
	if err == nil {
		m := d.(protoreflect.ServiceDescriptor).Methods().ByName(protoreflect.Name(method))
		if req, err = protoregistry.GlobalTypes.FindMessageByName(m.Input().FullName()); err == nil {
			res, err = protoregistry.GlobalTypes.FindMessageByName(m.Output().FullName())
		}
	}
	if err != nil {
		panic("the code of " + service + " is not linked: " + err.Error()) // it is imported above
	}
	return req, res
}

// pass makes calls of a method again on behalf of who has made them.
func (s Service) pass(conn grpc.ClientConnInterface, service, method string) grpc.MethodHandler {
	reqType, resType := types(service, method)
	full := "/" + service + "/" + method
	call := func(ctx context.Context, req any) (any, error) {
		from, ok := identity.CallOf(ctx)
		if !ok {
			return nil, fault.New(fault.Unauthenticated, "the call carries no identity")
		}
		res := resType.New().Interface()
		err := conn.Invoke(identity.WithOutgoing(ctx, from), full, req.(proto.Message), res)
		if st := status.Convert(err); st.Code() == codes.Unavailable && len(st.Proto().GetDetails()) == 0 {
			return nil, fault.New(fault.Unavailable, "%s", s.away).Because(err)
		}
		return res, err
	}
	return func(server any, ctx context.Context, read func(any) error, around grpc.UnaryServerInterceptor) (any, error) {
		req := reqType.New().Interface()
		if err := read(req); err != nil {
			return nil, err
		}
		if around == nil {
			return call(ctx, req)
		}
		return around(ctx, req, &grpc.UnaryServerInfo{Server: server, FullMethod: full}, call)
	}
}
