package trace_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"sabha.dev/chassis/trace"
)

func TestParseTakesWhatTheStandardAllows(t *testing.T) {
	const id, span = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
	for _, c := range []struct {
		text    string
		ok      bool
		sampled bool
	}{
		{"00-" + id + "-" + span + "-01", true, true},
		{"00-" + id + "-" + span + "-00", true, false},
		{"00-" + id + "-" + span + "-03", true, true},
		{"01-" + id + "-" + span + "-01", false, false},
		{"00-" + strings.ToUpper(id) + "-" + span + "-01", false, false},
		{"00-" + strings.Repeat("0", 32) + "-" + span + "-01", false, false},
		{"00-" + id + "-" + strings.Repeat("0", 16) + "-01", false, false},
		{"00-" + id[1:] + "-" + span + "-01", false, false},
		{"00-" + id + "-" + span + "-1", false, false},
		{"00-" + id + "-" + span, false, false},
		{"00-" + id + "-" + span + "-01-x", false, false},
		{"", false, false},
	} {
		got, ok := trace.Parse(c.text)
		if ok != c.ok {
			t.Errorf("Parse(%q) tells %v, want %v", c.text, ok, c.ok)
			continue
		}
		if ok && (got.TraceID != id || got.SpanID != span || got.Sampled != c.sampled) {
			t.Errorf("Parse(%q) = %+v", c.text, got)
		}
	}
}

// Without an exporter a service is no part of a trace: it passes on where it was
// called from.
func TestACallGoesOnInTheTraceItCameWith(t *testing.T) {
	var none *trace.Tracer
	unary, _ := none.Server(true)
	var inside trace.Context
	handler := func(ctx context.Context, _ any) (any, error) {
		inside = trace.Of(ctx)
		return nil, nil
	}
	info := &grpc.UnaryServerInfo{FullMethod: "/a.B/C"}
	place := trace.New()
	place.State = "vendor=1,other=2"
	ctx := metadata.NewIncomingContext(t.Context(), metadata.Pairs(trace.Header, place.String(), trace.StateHeader, "vendor=1", trace.StateHeader, "other=2"))
	if _, err := unary(ctx, nil, info, handler); err != nil {
		t.Fatal(err)
	}
	if inside != place {
		t.Errorf("the call %+v continues as %+v", place, inside)
	}
	h := http.Header{}
	trace.Inject(trace.With(t.Context(), inside), h)
	if h.Get("traceparent") != place.String() || h.Get("tracestate") != place.State {
		t.Errorf("the next call carries %v, want that of %+v", h, place)
	}
	for _, bad := range []metadata.MD{{}, metadata.Pairs(trace.Header, "nonsense"), metadata.Pairs(trace.Header, place.String(), trace.Header, place.String())} {
		if _, err := unary(metadata.NewIncomingContext(t.Context(), bad), nil, info, handler); err != nil {
			t.Fatal(err)
		}
		if _, ok := trace.Parse(inside.String()); !ok || inside.TraceID == place.TraceID {
			t.Errorf("%v begins the trace %+v", bad, inside)
		}
	}
}

func TestAContextOutsideOfTracesAddsNothing(t *testing.T) {
	h := http.Header{}
	trace.Inject(t.Context(), h)
	if len(h) > 0 {
		t.Errorf("headers %v", h)
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "00-----", strings.Repeat("0", 55)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, ok := trace.Parse(text)
		if !ok {
			return
		}
		again, ok := trace.Parse(c.String())
		if !ok || again != c {
			t.Fatalf("%q means %+v, written again %+v, %v", text, c, again, ok)
		}
	})
}
