package attainment

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/csv"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	partnersv1 "sabha.dev/gen/sabha/partners/v1"
)

// Caller is what one caller asked of a skill and how it fared, outside of maintenance.
type Caller struct {
	// Name is organisation/subject; empty for calls that nobody's name is known of, and for
	// those of all callers beyond the first of a day.
	Name string
	// OK to Abandoned are calls by result; Slow are those of them that took longer than the
	// breaker's limit.
	OK, Failed, Invalid, Throttled, Abandoned, Slow int64
}

// Calls of the caller.
func (c *Caller) Calls() int64 { return c.OK + c.Failed + c.Invalid + c.Throttled + c.Abandoned }

// Callers of a skill from a time until another, exclusive, those with the most calls first,
// at most as many as a day has and one without a name, which has the rest.
func (s *Store) Callers(ctx context.Context, partner, skill string, from, to time.Time) ([]Caller, error) {
	found := map[string]*Caller{}
	err := each(ctx, s.db.Read, func(rows *sql.Rows) error {
		var what string
		var n int64
		if err := rows.Scan(&what, &n); err != nil {
			return err
		}
		result, name, _ := strings.Cut(strings.TrimPrefix(what, byCaller), ":")
		c := found[name]
		if c == nil {
			c = &Caller{Name: name}
			found[name] = c
		}
		if count := c.of(result); count != nil {
			*count = n
		}
		return nil
	}, `SELECT what, CAST(SUM(n) AS BIGINT) FROM partner_attainment WHERE partner = $1 AND skill = $2 AND at >= $3 AND at < $4 AND what LIKE 'by:%' GROUP BY what`,
		partner, skill, from.Unix(), to.Unix())
	if err != nil {
		return nil, err
	}
	rest := found[""]
	delete(found, "")
	var all []Caller
	for _, c := range found {
		all = append(all, *c)
	}
	slices.SortFunc(all, func(a, b Caller) int { return cmp.Or(cmp.Compare(b.Calls(), a.Calls()), cmp.Compare(a.Name, b.Name)) })
	for len(all) > maxCallers { // of several replicas, or days
		if rest == nil {
			rest = &Caller{}
		}
		rest.add(all[len(all)-1])
		all = all[:len(all)-1]
	}
	if rest != nil {
		all = append(all, *rest)
	}
	return all, nil
}

func (c *Caller) of(result string) *int64 {
	return map[string]*int64{
		"ok": &c.OK, "failed": &c.Failed, "invalid": &c.Invalid, "throttled": &c.Throttled, "abandoned": &c.Abandoned, slow: &c.Slow,
	}[result]
}

func (c *Caller) add(o Caller) {
	for _, result := range []string{"ok", "failed", "invalid", "throttled", "abandoned", slow} {
		*c.of(result) += *o.of(result)
	}
}

func (c *Caller) proto() *partnersv1.Caller {
	return &partnersv1.Caller{Caller: c.Name, Ok: c.OK, Failed: c.Failed, Invalid: c.Invalid, Throttled: c.Throttled, Abandoned: c.Abandoned, Slow: c.Slow}
}

// CallersCSV writes who called the skills of a report, one caller a line.
func CallersCSV(w io.Writer, r *partnersv1.GetAttainmentResponse) error {
	out := csv.NewWriter(w)
	write := func(cells ...string) { _ = out.Write(cells) } // Error gives it at the end
	write("partner", "skill", "from", "to", "caller", "ok", "failed", "invalid", "throttled", "abandoned", "slow")
	count := func(v int64) string { return strconv.FormatInt(v, 10) }
	for _, s := range r.GetSkills() {
		for _, c := range s.GetCallers() {
			write(r.GetPartner(), s.GetSkill(), r.GetFrom().AsTime().Format(time.RFC3339), r.GetTo().AsTime().Format(time.RFC3339), c.GetCaller(),
				count(c.GetOk()), count(c.GetFailed()), count(c.GetInvalid()), count(c.GetThrottled()), count(c.GetAbandoned()), count(c.GetSlow()))
		}
	}
	out.Flush()
	return out.Error()
}
