package page

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"sabha.dev/services/console/internal/query"
	"sabha.dev/services/console/internal/request"
)

// label of a state, in the words of A2A.
func label(s request.State) string {
	switch s {
	case "":
		return "Unknown"
	case request.Answered:
		return "Answered"
	}
	text := strings.ReplaceAll(string(s), "-", " ")
	return strings.ToUpper(text[:1]) + text[1:]
}

// known tells states that have an icon and a colour from names that a later
// release may send.
func known(s request.State) bool {
	switch s {
	case request.Answered, request.StepPending, request.StepRunning, request.StepSkipped:
		return true
	}
	_, ok := request.ParseState(string(s))
	return ok
}

// tone is the class that colours a state.
func tone(s request.State) string {
	if !known(s) {
		return "state"
	}
	return "state state-" + string(s)
}

// progress says in words how far a plan has come.
func progress(p request.Plan) string {
	count := map[request.State]int{}
	for _, s := range p.Forward() {
		count[s.State]++
	}
	var parts []string
	if n := count[request.StepCompleted]; n > 0 {
		parts = append(parts, counted(n, "step", "steps")+" done")
	}
	for _, s := range []request.State{request.StepFailed, request.StepCanceled, request.StepSkipped} {
		if n := count[s]; n > 0 {
			parts = append(parts, strconv.Itoa(n)+" "+string(s))
		}
	}
	switch n := count[request.StepRunning]; {
	case n == 1:
		parts = append(parts, p.Current().Name+" running")
	case n > 1:
		parts = append(parts, strconv.Itoa(n)+" running")
	}
	if len(parts) == 0 {
		return "not begun"
	}
	return strings.Join(parts, ", ")
}

// modelsUsed says what all calls of models for a task came to.
func modelsUsed(m request.Models) string {
	words := counted(int(m.Calls), "call", "calls") + ", " + number(m.Read) + " tokens read, " + number(m.Wrote) + " written"
	if m.Cost > 0 {
		words += ", " + strconv.FormatFloat(m.Cost, 'g', 3, 64) + " " + m.Currency
	}
	return words
}

func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return number(int64(n)) + " " + many
}

// took is a duration as one reads it.
func took(d time.Duration) string {
	switch {
	case d < 10*time.Microsecond:
		return "under 0.01 ms"
	case d < time.Millisecond:
		return plain(float64(d)/float64(time.Millisecond), 2) + " ms"
	case d < 10*time.Millisecond:
		return plain(float64(d)/float64(time.Millisecond), 1) + " ms"
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return plain(d.Seconds(), 1) + " s"
	case d < time.Hour:
		return fmt.Sprintf("%d min %02d s", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%d h %02d min", int(d.Hours()), int(d.Minutes())%60)
}

// plain is a number with as many decimals as tell something.
func plain(f float64, decimals int) string {
	s := strconv.FormatFloat(f, 'f', decimals, 64)
	if decimals == 0 {
		return s
	}
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}

// offset of a call from the first one.
func offset(d time.Duration) string {
	if d = max(0, d); d < time.Minute {
		return fmt.Sprintf("+%.3f s", d.Seconds())
	}
	return "+" + took(d)
}

// clock is a time for a reader without a script, who cannot be told in their zone.
func clock(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// excerpt bounds what a title or a row repeats, in characters.
func excerpt(s string, most int) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > most {
		return strings.TrimSpace(string(r[:most-1])) + "…"
	}
	return s
}

// asked is the request in words; one of data alone has none.
func asked(t request.Task) string {
	switch {
	case t.Text != "":
		return t.Text
	case t.Plan.Playbook != "":
		return "Data for " + t.Plan.Playbook
	}
	return "Data without text"
}

// stepName of a step with what sets it apart from others of its name.
func stepName(s request.Step) string {
	name := s.Name
	if s.Undo {
		name = "undo " + name
	}
	if s.Round > 0 {
		name += fmt.Sprintf(", round %d", s.Round+1)
	}
	return name
}

// span of time, for a bar: where it begins and how wide it is, in percent.
type span struct{ x, width string }

func spanOf(began, ended, first, last time.Time) span {
	whole := last.Sub(first).Seconds()
	if whole <= 0 {
		return span{"0", "100"}
	}
	x := min(max(0, began.Sub(first).Seconds()/whole*100), 99)
	width := min(max(1, ended.Sub(began).Seconds()/whole*100), 100-x)
	return span{fmt.Sprintf("%.2f", x), fmt.Sprintf("%.2f", width)}
}

// countOf is a count of a list, which may be of its newest tasks alone.
func countOf(p request.Page, n int64) string {
	if p.CountsMore && n > 0 {
		return number(n) + "+"
	}
	return number(n)
}

// number is a count with its thousands apart.
func number(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "\u202f" + s[i:]
	}
	return s
}

func playbookPath(name, version string) string {
	return address("/playbooks/"+url.PathEscape(name), "version", version)
}

// quoted is a value for the query bar.
func quoted(s string) string { return queryOf(s).String()[len("playbook:"):] }

func queryOf(playbook string) query.Query { return query.Query{Playbook: playbook} }
