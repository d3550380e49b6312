package observability_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/metadata"

	"sabha.dev/chassis/trace"
	"sabha.dev/cmd/sabha/platform"
	"sabha.dev/testrig/otlptest"
)

// One question over each binding is one trace: below the client's span one span of
// the gateway, and below that one tree with every persona in it.
func TestAQuestionIsOneTraceOverEveryBinding(t *testing.T) {
	c := otlptest.New(t)
	r := start(t, func(o *platform.Options) { o.OTLP = c.URL() })
	for name, send := range map[string]func(client trace.Context) string{
		"REST": func(client trace.Context) string {
			code, body := r.http("POST", "/message:send", jsonOf(t, ask(question)), "Traceparent: "+client.String(), "Tracestate: vendor=x")
			return fmt.Sprint(code, body)
		},
		"JSON-RPC": func(client trace.Context) string {
			code, body := r.http("POST", "/rpc", `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":`+jsonOf(t, ask(question))+`}`,
				"Traceparent: "+client.String(), "Tracestate: vendor=x")
			return fmt.Sprint(code, body)
		},
		"gRPC": func(client trace.Context) string {
			res, err := r.a2a().SendMessage(metadata.AppendToOutgoingContext(r.ctx(), "traceparent", client.String(), "tracestate", "vendor=x"), ask(question))
			if err != nil {
				return err.Error()
			}
			return res.String()
		},
	} {
		t.Run(name, func(t *testing.T) {
			client := trace.New()
			if answer := send(client); !strings.Contains(answer, "every six hours") {
				t.Fatal(answer)
			}
			spans := settled(t, c, client.TraceID)
			root := connected(t, spans, client.SpanID)
			if root.Service != "gateway" || root.Kind != "SERVER" {
				t.Errorf("the first span is %+v, want that of the gateway", root)
			}
			if want := map[string]string{"REST": "POST /message:send", "JSON-RPC": "SendMessage", "gRPC": "lf.a2a.v1.A2AService/SendMessage"}[name]; root.Name != want {
				t.Errorf("the first span is called %q, want %q", root.Name, want)
			}
			for _, s := range spans {
				if s.State != "vendor=x" && s.Kind != "PRODUCER" {
					t.Errorf("%s of %s has the tracestate %q", s.Name, s.Service, s.State)
				}
			}
		})
	}
}

// settled waits until the trace of an answered question has all its spans.
func settled(t *testing.T, c *otlptest.Collector, traceID string) []otlptest.Span {
	t.Helper()
	var spans []otlptest.Span
	await(t, func() error {
		spans = c.Spans(traceID)
		for _, want := range []string{
			"gateway/SERVER", "gateway/CLIENT", "planner/SERVER", "planner/INTERNAL run planner/plan-and-run", "planner/INTERNAL step investigate",
			"security/SERVER", "research/INTERNAL run research/investigate", "validator/INTERNAL run validator/validate",
			"research/PRODUCER publish sabha.events.research.*", "planner/PRODUCER publish sabha.events.planner.*",
		} {
			if !slices.ContainsFunc(spans, func(s otlptest.Span) bool { return strings.HasPrefix(s.Service+"/"+s.Kind+" "+s.Name, want) }) {
				return fmt.Errorf("no span %s in\n%s", want, drawn(spans))
			}
		}
		return dangling(spans)
	})
	return spans
}

// dangling tells spans whose parents have not come. One place is outside: that of
// the client.
func dangling(spans []otlptest.Span) error {
	known := map[string]bool{}
	for _, s := range spans {
		known[s.SpanID] = true
	}
	outside := map[string]bool{}
	for _, s := range spans {
		if !known[s.ParentID] {
			outside[s.ParentID] = true
		}
	}
	if len(outside) != 1 {
		return errors.New(drawn(spans))
	}
	return nil
}

// connected gives the one span that stands below a place outside, and checks what
// must hold for each of the others.
func connected(t *testing.T, spans []otlptest.Span, outside string) otlptest.Span {
	t.Helper()
	byID := map[string]otlptest.Span{}
	for _, s := range spans {
		byID[s.SpanID] = s
	}
	var root otlptest.Span
	for _, s := range spans {
		if s.Failed {
			t.Errorf("%s of %s failed", s.Name, s.Service)
		}
		parent, ok := byID[s.ParentID]
		switch {
		case !ok && s.ParentID != outside:
			t.Errorf("%s of %s stands below %q, which is not there", s.Name, s.Service, s.ParentID)
		case !ok && (s.Kind == "SERVER" || s.Kind == "CONSUMER"):
			root = s
		case !ok: // the runs of a task stand below the call that asked for it
		case s.Kind == "SERVER" && (parent.Kind != "CLIENT" || parent.Name != s.Name):
			t.Errorf("the call %s of %s stands below %s of %s", s.Name, s.Service, parent.Name, parent.Service)
		case s.Kind != "SERVER" && s.Service != parent.Service && parent.Kind != "CLIENT":
			t.Errorf("%s of %s stands below %s of %s", s.Name, s.Service, parent.Name, parent.Service)
		}
	}
	t.Log("\n" + drawn(spans))
	return root
}

// drawn shows spans as a tree.
func drawn(spans []otlptest.Span) string {
	slices.SortFunc(spans, func(a, b otlptest.Span) int { return a.Start.Compare(b.Start) })
	known := map[string]bool{}
	for _, s := range spans {
		known[s.SpanID] = true
	}
	var b strings.Builder
	var below func(parent string, depth int)
	line := func(s otlptest.Span, depth int) {
		fmt.Fprintf(&b, "%s%-9s %s: %s %v\n", strings.Repeat("  ", depth), s.Kind, s.Service, s.Name, s.End.Sub(s.Start).Round(1e4))
		below(s.SpanID, depth+1)
	}
	below = func(parent string, depth int) {
		for _, s := range spans {
			if s.ParentID == parent {
				line(s, depth)
			}
		}
	}
	for _, s := range spans {
		if !known[s.ParentID] {
			line(s, 0)
		}
	}
	return b.String()
}
