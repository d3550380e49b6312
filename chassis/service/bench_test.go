package service_test

import (
	"net"
	"strings"
	"syscall"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/chassis/service"
	"sabha.dev/chassis/trace"
)

// BenchmarkTask is a durable task of 1 KiB at a service's port.
func BenchmarkTask(b *testing.B) { traced(b, nil) }

// BenchmarkMessage is a direct answer of 1 KiB.
func BenchmarkMessage(b *testing.B) { traced(b, skill("say")) }

// traced measures calls that belong to no trace, to one that the service passes
// on, and to one whose spans it records and sends.
func traced(b *testing.B, metadata *structpb.Struct) {
	for _, mode := range []struct {
		name         string
		trace, spans bool
	}{{"untraced", false, false}, {"passed on", true, false}, {"recorded", true, true}} {
		b.Run(mode.name, func(b *testing.B) {
			client, call := start(b, func(c *service.Config) {
				if mode.spans {
					c.OTLP = sink(b)
				}
			})
			text := strings.Repeat("x", 1024)
			b.SetParallelism(16)
			b.ReportAllocs()
			b.ResetTimer()
			before := used()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					ctx := call()
					if mode.trace {
						ctx = trace.With(ctx, trace.New())
					}
					m := message("m-"+randomID(), text)
					m.Message.Metadata = metadata
					if _, err := client.SendMessage(ctx, m); err != nil {
						b.Error(err)
						return
					}
				}
			})
			b.ReportMetric((used()-before)*1e6/float64(b.N), "cpu-µs/op")
		})
	}
}

// sink takes spans and forgets them.
func sink(b *testing.B) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	s := grpc.NewServer(grpc.UnknownServiceHandler(func(_ any, call grpc.ServerStream) error {
		if err := call.RecvMsg(&emptypb.Empty{}); err != nil {
			return err
		}
		return call.SendMsg(&emptypb.Empty{})
	}))
	go func() { _ = s.Serve(l) }()
	b.Cleanup(s.Stop)
	return "http://" + l.Addr().String()
}

// used is the processor time of this process, seconds.
func used() float64 {
	var r syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &r)
	return float64(r.Utime.Nano()+r.Stime.Nano()) / 1e9
}
