// Package metrics is what a service counts about its tasks, commits and events.
package metrics

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics of one replica of a service.
type Metrics struct {
	// TasksAccepted counts stored tasks by skill.
	TasksAccepted *prometheus.CounterVec
	// TasksEnded counts ended tasks by skill and state.
	TasksEnded *prometheus.CounterVec
	// TaskSeconds is the time from acceptance to the end, by skill.
	TaskSeconds *prometheus.HistogramVec
	// Answers counts direct answers by skill and outcome (ok, error).
	Answers *prometheus.CounterVec
	// AnswerSeconds is the time of a direct answer, by skill.
	AnswerSeconds *prometheus.HistogramVec
	// Running is the number of tasks that this replica runs now.
	Running prometheus.Gauge
	// Admissions counts screened messages by verdict (allowed, refused, unreachable).
	Admissions *prometheus.CounterVec
	// AdmissionSeconds is the time from a question to security to its verdict.
	AdmissionSeconds prometheus.Histogram
	// Takeovers counts tasks taken over from replicas whose lease ran out.
	Takeovers prometheus.Counter
	// LeasesLost counts how often this replica renewed its lease too late.
	LeasesLost prometheus.Counter
	// RenewalsFailed counts failed attempts to renew the lease: the database cannot be reached.
	RenewalsFailed prometheus.Counter
	// Fenced counts writes that were refused because another replica owns the task.
	Fenced prometheus.Counter
	// CommitSeconds is the time of one database commit, CommitWrites how many writes shared it.
	CommitSeconds, CommitWrites prometheus.Histogram
	// CommitsFailed counts commits that the database did not take.
	CommitsFailed prometheus.Counter
	// OutboxWaiting is the number of commits whose events the log has not confirmed.
	OutboxWaiting prometheus.Gauge
	// PushDeliveries counts attempts to deliver to webhooks by outcome (delivered, failed, refused, gone).
	PushDeliveries *prometheus.CounterVec
	// PushLag is the time from an event's commit to its delivery.
	PushLag prometheus.Histogram
	// PushDead is the number of the service's configurations that were disabled with events undelivered.
	PushDead prometheus.Gauge
	// RelaySeconds is the time from a commit to the log's confirmation of its events.
	RelaySeconds prometheus.Histogram
	// Streams is the number of open streams of events.
	Streams prometheus.Gauge
}

// New makes the metrics of a replica and registers them. Without a registry they
// count for nobody.
func New(r prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{
		TasksAccepted:    prometheus.NewCounterVec(prometheus.CounterOpts{Name: "sabha_tasks_accepted_total", Help: "Stored tasks by skill."}, []string{"skill"}),
		TasksEnded:       prometheus.NewCounterVec(prometheus.CounterOpts{Name: "sabha_tasks_ended_total", Help: "Ended tasks by skill and state."}, []string{"skill", "state"}),
		TaskSeconds:      prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "sabha_task_seconds", Help: "Time from acceptance to the end of a task.", Buckets: seconds}, []string{"skill"}),
		Answers:          prometheus.NewCounterVec(prometheus.CounterOpts{Name: "sabha_answers_total", Help: "Direct answers by skill and outcome."}, []string{"skill", "outcome"}),
		AnswerSeconds:    prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "sabha_answer_seconds", Help: "Time of a direct answer.", Buckets: seconds}, []string{"skill"}),
		Running:          prometheus.NewGauge(prometheus.GaugeOpts{Name: "sabha_tasks_running", Help: "Tasks that this replica runs now."}),
		Admissions:       prometheus.NewCounterVec(prometheus.CounterOpts{Name: "sabha_admissions_total", Help: "Screened messages by verdict."}, []string{"verdict"}),
		AdmissionSeconds: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "sabha_admission_seconds", Help: "Time until screening has judged a message.", Buckets: seconds}),
		RenewalsFailed:   prometheus.NewCounter(prometheus.CounterOpts{Name: "sabha_lease_renewals_failed_total", Help: "Failed attempts to renew the lease."}),
		Fenced:           prometheus.NewCounter(prometheus.CounterOpts{Name: "sabha_writes_fenced_total", Help: "Writes refused because another replica owns the task."}),
		CommitsFailed:    prometheus.NewCounter(prometheus.CounterOpts{Name: "sabha_commits_failed_total", Help: "Commits that the database did not take."}),
		RelaySeconds:     prometheus.NewHistogram(prometheus.HistogramOpts{Name: "sabha_relay_seconds", Help: "Time from a commit to the confirmation of its events by the log.", Buckets: seconds}),
		Streams:          prometheus.NewGauge(prometheus.GaugeOpts{Name: "sabha_streams_open", Help: "Open streams of events."}),
		Takeovers:        prometheus.NewCounter(prometheus.CounterOpts{Name: "sabha_takeovers_total", Help: "Tasks taken over from replicas whose lease ran out."}),
		LeasesLost:       prometheus.NewCounter(prometheus.CounterOpts{Name: "sabha_leases_lost_total", Help: "How often this replica renewed its lease too late."}),
		CommitSeconds:    prometheus.NewHistogram(prometheus.HistogramOpts{Name: "sabha_commit_seconds", Help: "Time of one database commit.", Buckets: seconds}),
		CommitWrites:     prometheus.NewHistogram(prometheus.HistogramOpts{Name: "sabha_commit_writes", Help: "Writes that shared one commit.", Buckets: prometheus.ExponentialBuckets(1, 2, 9)}),
		OutboxWaiting:    prometheus.NewGauge(prometheus.GaugeOpts{Name: "sabha_outbox_waiting", Help: "Commits whose events the log has not confirmed."}),

		PushDeliveries: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "sabha_push_deliveries_total", Help: "Attempts to deliver to webhooks by outcome."}, []string{"outcome"}),
		PushLag:        prometheus.NewHistogram(prometheus.HistogramOpts{Name: "sabha_push_lag_seconds", Help: "Time from an event's commit to its delivery.", Buckets: seconds}),
		PushDead:       prometheus.NewGauge(prometheus.GaugeOpts{Name: "sabha_push_dead", Help: "Push configurations that were disabled with events undelivered."}),
	}
	if r == nil {
		return m, nil
	}
	var errs []error
	for _, c := range []prometheus.Collector{
		m.TasksAccepted, m.AdmissionSeconds, m.RenewalsFailed, m.Fenced, m.CommitsFailed, m.RelaySeconds, m.Streams,
		m.TasksEnded, m.TaskSeconds, m.Answers, m.AnswerSeconds, m.Running, m.Admissions, m.Takeovers, m.LeasesLost,
		m.CommitSeconds, m.CommitWrites, m.OutboxWaiting, m.PushDeliveries, m.PushLag, m.PushDead,
	} {
		errs = append(errs, r.Register(c))
	}
	return m, errors.Join(errs...)
}

// seconds are the buckets of durations: a fast commit to a day-long review.
var seconds = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 3600, 86400}
