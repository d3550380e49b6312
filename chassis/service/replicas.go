package service

import (
	"fmt"
	"net"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"
)

// target is where a service is found. One address is a name that DNS may give
// several replicas for; several, separated by commas, are the replicas themselves.
func target(service, address string) (string, []grpc.DialOption, error) {
	if address == "" {
		return "", nil, fmt.Errorf("no address for service %s; name it under peers", service)
	}
	list := strings.Split(address, ",")
	if len(list) == 1 {
		return "dns:///" + address, nil, nil
	}
	var replicas []resolver.Endpoint
	for _, a := range list {
		a = strings.TrimSpace(a)
		if host, port, err := net.SplitHostPort(a); err != nil || host == "" || port == "" {
			return "", nil, fmt.Errorf("%q under peers.%s is no address; want HOST:PORT, several separated by commas", a, service)
		}
		replicas = append(replicas, resolver.Endpoint{Addresses: []resolver.Address{{Addr: a}}})
	}
	r := manual.NewBuilderWithScheme("replicas")
	r.InitialState(resolver.State{Endpoints: replicas})
	return "replicas:///" + service, []grpc.DialOption{grpc.WithResolvers(r)}, nil
}
