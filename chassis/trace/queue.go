package trace

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// Bounds of what waits for the collector.
const (
	// waiting spans; what comes beyond is dropped and counted.
	maxWaiting = 8192
	// maxBatch spans are sent at once, after batchEvery at the latest.
	maxBatch   = 512
	batchEvery = time.Second
	// A batch is tried so often, with so long between, before it counts as lost.
	maxTries   = 6
	tryAgainIn = 5 * time.Second
)

// queue sends ended spans to the exporter in the background. It is not the SDK's
// batch processor because that one drops in silence; here every span that does not
// arrive is counted.
type queue struct {
	exporter sdktrace.SpanExporter
	spans    chan sdktrace.ReadOnlySpan
	sent     prometheus.Counter
	lost     *prometheus.CounterVec
	full     prometheus.Counter
	failed   prometheus.Counter
	halt     context.CancelFunc
	stopping chan struct{}
	stopped  chan struct{}
	once     sync.Once
}

var _ sdktrace.SpanProcessor = (*queue)(nil)

func newQueue(exporter sdktrace.SpanExporter, r prometheus.Registerer) (*queue, error) {
	q := &queue{
		exporter: exporter, spans: make(chan sdktrace.ReadOnlySpan, maxWaiting), stopping: make(chan struct{}), stopped: make(chan struct{}),
		sent: prometheus.NewCounter(prometheus.CounterOpts{Name: "sabha_spans_sent_total", Help: "Spans that the collector has taken."}),
		lost: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "sabha_spans_lost_total", Help: "Spans that did not reach the collector, by reason."}, []string{"reason"}),
	}
	q.full, q.failed = q.lost.WithLabelValues("full"), q.lost.WithLabelValues("failed")
	if r != nil {
		for _, c := range []prometheus.Collector{q.sent, q.lost} {
			if err := r.Register(c); err != nil {
				return nil, err
			}
		}
	}
	ctx, halt := context.WithCancel(context.Background())
	q.halt = halt
	go q.run(ctx)
	return q, nil
}

// OnStart does nothing.
func (*queue) OnStart(context.Context, sdktrace.ReadWriteSpan) {}

// OnEnd takes a span, or drops it when too many wait.
func (q *queue) OnEnd(s sdktrace.ReadOnlySpan) {
	if !s.SpanContext().IsSampled() {
		return
	}
	select {
	case q.spans <- s:
	default:
		q.full.Inc()
	}
}

func (q *queue) run(ctx context.Context) {
	defer close(q.stopped)
	tick := time.NewTicker(batchEvery)
	defer tick.Stop()
	var batch []sdktrace.ReadOnlySpan
	for {
		stopping := false
		select {
		case s := <-q.spans:
			if batch = append(batch, s); len(batch) < maxBatch {
				continue
			}
		case <-tick.C:
		case <-q.stopping:
			stopping = true
		}
		for more := true; more; {
			for more = false; len(batch) < maxBatch && len(q.spans) > 0; {
				batch = append(batch, <-q.spans)
			}
			if len(batch) > 0 {
				arrived := q.send(ctx, batch)
				batch, more = batch[:0], stopping && arrived
			}
		}
		if stopping {
			q.failed.Add(float64(len(q.spans))) // not one by one at a collector that is not there
			return
		}
	}
}

// send tries until the collector takes a batch. Meanwhile spans wait, and when
// too many do they are dropped; at a stop there is one try.
func (q *queue) send(ctx context.Context, batch []sdktrace.ReadOnlySpan) bool {
	for try := 1; ; try++ {
		err := q.exporter.ExportSpans(ctx, batch)
		if err == nil {
			q.sent.Add(float64(len(batch)))
			return true
		}
		if try < maxTries {
			select {
			case <-time.After(tryAgainIn):
				continue
			case <-q.stopping:
			}
		}
		q.failed.Add(float64(len(batch)))
		return false
	}
}

// ForceFlush is not needed: Shutdown sends what waits.
func (*queue) ForceFlush(context.Context) error { return nil }

// Shutdown sends what waits, until ctx ends, and closes the exporter.
func (q *queue) Shutdown(ctx context.Context) error {
	q.once.Do(func() { close(q.stopping) })
	select {
	case <-q.stopped:
	case <-ctx.Done():
	}
	q.halt()
	<-q.stopped
	return q.exporter.Shutdown(ctx)
}
