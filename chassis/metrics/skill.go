package metrics

import "github.com/prometheus/client_golang/prometheus"

// Skill is what is counted of one skill, with its labels resolved: counting a task
// is then an addition.
type Skill struct {
	Accepted prometheus.Counter
	Seconds  prometheus.Observer
	// AnsweredWell and AnsweredBadly count direct answers.
	AnsweredWell, AnsweredBadly prometheus.Counter
	AnswerSeconds               prometheus.Observer

	ended map[string]prometheus.Counter
	other *prometheus.CounterVec
	id    string
}

// Skill resolves the labels of a skill. states are the terminal ones by name. A
// skill shows with zeros from the start for what it does: tasks, or direct answers.
func (m *Metrics) Skill(id string, answers bool, states ...string) *Skill {
	s := &Skill{ended: map[string]prometheus.Counter{}, other: m.TasksEnded, id: id}
	if answers {
		s.AnsweredWell, s.AnsweredBadly = m.Answers.WithLabelValues(id, "ok"), m.Answers.WithLabelValues(id, "error")
		s.AnswerSeconds = m.AnswerSeconds.WithLabelValues(id)
		return s
	}
	s.Accepted, s.Seconds = m.TasksAccepted.WithLabelValues(id), m.TaskSeconds.WithLabelValues(id)
	for _, state := range states {
		s.ended[state] = m.TasksEnded.WithLabelValues(id, state)
	}
	return s
}

// Ended counts a task that ended in a state after so many seconds.
func (s *Skill) Ended(state string, seconds float64) {
	c, ok := s.ended[state]
	if !ok {
		c = s.other.WithLabelValues(s.id, state)
	}
	c.Inc()
	s.Seconds.Observe(seconds)
}
