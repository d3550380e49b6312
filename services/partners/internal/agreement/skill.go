package agreement

import (
	"strings"
	"time"
	"unicode"

	"sabha.dev/chassis/strictyaml"
	"sabha.dev/services/partners/internal/partner"
)

// maxSkill bounds the id of a skill, bytes.
const maxSkill = 128

func (r *reader) skill(e strictyaml.Entry) *Terms {
	t := defaults
	t.Agreement, t.Address = r.agreement, partner.Address{Partner: r.agreement.Partner, Skill: e.Key}
	if e.Key == "" || len(e.Key) > maxSkill || strings.ContainsFunc(e.Key, func(c rune) bool { return !unicode.IsGraphic(c) }) {
		e.Value.Problem("%q is not the id of a skill: it is empty, longer than %d bytes, or has control characters", strictyaml.Clip(e.Key), maxSkill)
	}
	f, ok := e.Value.Fields("confirm", "direct", "budget", "response", "availability", "throughput", "maintenance", "retries", "breaker", "fallback", "escalate")
	if !ok {
		return &t
	}
	if n, ok := f.Get("confirm"); ok {
		t.Confirm = n.Bool()
	}
	if n, ok := f.Get("direct"); ok {
		if t.Direct = n.Bool(); t.Direct && t.Confirm {
			n.Problem("a call that a person confirms is a task; remove direct or confirm")
		}
	}
	if n, ok := f.Get("escalate"); ok {
		t.Escalate = n.Bool()
	}
	budget, stated := f.Get("budget")
	if stated {
		t.Budget = budget.Duration(100*time.Millisecond, MaxBudget)
	}
	if n, ok := f.Get("response"); ok {
		t.Response.read(n)
		if longest := max(t.Response.P50, t.Response.P95, t.Response.P99); t.Budget < longest {
			if !stated {
				budget = n
			}
			budget.Problem("the budget of a call, %s, is shorter than the response time agreed, %s: answers that are in time would be given up", strictyaml.Short(t.Budget), strictyaml.Short(longest))
		}
	}
	if n, ok := f.Get("availability"); ok {
		t.Availability = n.Number(1, 100)
	}
	if n, ok := f.Get("throughput"); ok {
		t.Throughput.read(n)
	}
	if n, ok := f.Get("maintenance"); ok {
		t.Maintenance = windows(n, r.agreement.ReviewDate)
	}
	if n, ok := f.Get("retries"); ok {
		t.Retries.read(n)
	}
	t.Breaker.read(f, &t)
	if n, ok := f.Get("fallback"); ok {
		text := n.Text()
		r.places[e.Key] = place{r.name, "skills." + strictyaml.Clip(e.Key) + ".fallback", n.Line()}
		switch to, valid := partner.ParseAddress(text); {
		case text == "":
		case !valid:
			n.Problem("%q is not a skill of a partner; write it as other-partner/skill", strictyaml.Clip(text))
		case to == t.Address:
			n.Problem("a skill cannot stand in for itself")
		default:
			t.Fallback = to
		}
	}
	return &t
}

func (r *Response) read(n strictyaml.Node) {
	f, ok := n.Fields("p50", "p95", "p99")
	if !ok {
		return
	}
	var last time.Duration
	for _, p := range []struct {
		key  string
		into *time.Duration
	}{{"p50", &r.P50}, {"p95", &r.P95}, {"p99", &r.P99}} {
		if n, ok := f.Get(p.key); ok {
			*p.into = n.Duration(time.Millisecond, MaxBudget)
			if *p.into < last {
				n.Problem("is %s, shorter than a lower percentile, %s; they must ascend", strictyaml.Short(*p.into), strictyaml.Short(last))
			}
			last = *p.into
		}
	}
	if last == 0 {
		n.Problem("agrees on nothing; name p50, p95 or p99, or remove the key")
	}
}

func (t *Throughput) read(n strictyaml.Node) {
	f, ok := n.Fields("per_minute", "concurrent")
	if !ok {
		return
	}
	if n, ok := f.Get("per_minute"); ok {
		t.PerMinute = n.Int(1, MaxPerMinute)
	}
	if n, ok := f.Get("concurrent"); ok {
		t.Concurrent = n.Int(1, MaxConcurrent)
	}
}

func (r *Retries) read(n strictyaml.Node) {
	f, ok := n.Fields("max", "backoff", "ratio")
	if !ok {
		return
	}
	if n, ok := f.Get("max"); ok {
		r.Max = n.Int(0, MaxRetries)
	}
	if n, ok := f.Get("backoff"); ok {
		r.Backoff = n.Duration(time.Millisecond, time.Minute)
	}
	if n, ok := f.Get("ratio"); ok {
		r.Ratio = n.Number(0, 1)
	}
}

// read reads a breaker. Where nothing is said a call is slow that takes longer than the
// highest percentile that was agreed, or four fifths of its budget.
func (b *Breaker) read(skill strictyaml.Fields, t *Terms) {
	b.Slow = t.Budget * 4 / 5
	if agreed := max(t.Response.P50, t.Response.P95, t.Response.P99); agreed > 0 {
		b.Slow = agreed
	}
	n, ok := skill.Get("breaker")
	if !ok {
		return
	}
	f, ok := n.Fields("calls", "failures", "slow", "slow_share", "open", "probes")
	if !ok {
		return
	}
	if n, ok := f.Get("calls"); ok {
		b.Calls = n.Int(1, 10_000)
	}
	if n, ok := f.Get("failures"); ok {
		b.Failures = share(n)
	}
	if n, ok := f.Get("slow"); ok {
		switch b.Slow = n.Duration(time.Millisecond, MaxBudget); {
		case b.Slow > t.Budget:
			n.Problem("no call takes longer than its budget, %s, so none would be slow", strictyaml.Short(t.Budget))
		case b.Slow < t.Response.P50:
			n.Problem("is shorter than p50, %s: half of the calls may take longer by agreement", strictyaml.Short(t.Response.P50))
		}
	}
	if n, ok := f.Get("slow_share"); ok {
		b.SlowShare = share(n)
	}
	if n, ok := f.Get("open"); ok {
		b.Open = n.Duration(time.Second, time.Hour)
	}
	if n, ok := f.Get("probes"); ok {
		b.Probes = n.Int(1, 100)
	}
}

// share reads a part of a whole that is not nothing.
func share(n strictyaml.Node) float64 { return n.Number(0.01, 1) }
