package page_test

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/a-h/templ"

	"sabha.dev/chassis/identity"
	"sabha.dev/services/console/internal/page"
	"sabha.dev/services/console/internal/person"
	"sabha.dev/services/console/internal/query"
	"sabha.dev/services/console/internal/request"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func html(t *testing.T, c templ.Component) string {
	t.Helper()
	var b strings.Builder
	if err := c.Render(context.Background(), &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

var (
	tags   = regexp.MustCompile(`<[^>]*>`)
	spaces = regexp.MustCompile(`\s+`)
)

// text is what a reader sees of a component, with | between elements.
func text(t *testing.T, c templ.Component) string {
	t.Helper()
	s := spaces.ReplaceAllString(tags.ReplaceAllString(html(t, c), "|"), " ")
	return regexp.MustCompile(`[| ]*\|[| ]*`).ReplaceAllString(s, "|")
}

func wants(t *testing.T, got string, all ...string) {
	t.Helper()
	for _, want := range all {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in:\n%s", want, got)
		}
	}
}

func task() request.Task {
	return request.Task{
		ID: "t-1", ContextID: "c-1", TraceID: "0af7", Agent: "planner", Skill: "plan-and-run", State: request.Working, Note: "looking", Text: "How much leave?",
		Principal: "alma (acme)", Caller: "gateway", Replica: "planner-7", Created: noon, Changed: noon.Add(time.Second),
		Plan: request.Plan{Playbook: "general", Version: "1", Steps: []request.Step{
			{Name: "recall", Agent: "memory", Skill: "recall", State: request.StepSkipped},
			{Name: "find", Agent: "research", Skill: "investigate", State: request.StepCompleted, Started: noon, Ended: noon.Add(1500 * time.Millisecond)},
			{Name: "draft", Agent: "planner", Skill: "synthesise", State: request.StepRunning, Started: noon.Add(2 * time.Second), Attempt: 1, Reason: "the model gave no answer"},
		}},
	}
}

func TestARowTellsTheStateInWordsAndHowFarThePlanIs(t *testing.T) {
	got := text(t, page.TaskList(page.List{Page: request.Page{Tasks: []request.Task{task()}, Counted: true, Counts: map[request.State]int64{request.Working: 1, request.Failed: 41}}}))
	wants(t, got, "|All|42|", "|Working|1|", "|Failed|41|", "|Canceled|0|",
		"|Working|How much leave?|looking|general|1 step done, 1 skipped, draft running|alma (acme)|via gateway|2026-03-01 12:00:00 UTC|2026-03-01 12:00:01 UTC|")
}

func TestCountsAreLinksAndTheChosenOneIsMarked(t *testing.T) {
	q, err := query.Parse("state:input-required leave")
	if err != nil {
		t.Fatal(err)
	}
	got := html(t, page.TaskList(page.List{Query: q, Text: "state:input-required leave", Page: request.Page{Tasks: []request.Task{task()}, Next: "t/9 &"}}))
	wants(t, got, `href="/tasks?q=state%3Afailed+leave"`, `href="/tasks?q=leave"`, `href="/tasks?after=t%2F9+%26&amp;q=state%3Ainput-required+leave"`)
	chosen := regexp.MustCompile(`href="([^"]*)"[^>]*aria-current="page"`).FindAllStringSubmatch(got, -1)
	if len(chosen) != 1 || chosen[0][1] != "/tasks?q=state%3Ainput-required+leave" {
		t.Errorf("marked as chosen: %v", chosen)
	}
}

func TestAQueryThatIsWrongIsShownWithWhatIsWrong(t *testing.T) {
	_, err := query.Parse("state:x")
	var fault *query.Error
	if !errors.As(err, &fault) {
		t.Fatal(err)
	}
	got := html(t, page.TaskList(page.List{Text: "state:x", Fault: fault}))
	wants(t, got, `value="state:x"`, `aria-invalid="true"`, "There is no state &#34;x&#34;. States are submitted")
	if strings.Contains(got, "<table") {
		t.Error("a list is shown")
	}
}

func TestOnlyTasksThatRunCanBeSelected(t *testing.T) {
	done := task()
	done.ID, done.State = "t-2", request.Completed
	got := html(t, page.TaskList(page.List{Page: request.Page{Tasks: []request.Task{task(), done}}}))
	boxes := regexp.MustCompile(`<input type="checkbox" form="cancel-many-form" name="id" value="([^"]*)"`).FindAllStringSubmatch(got, -1)
	if len(boxes) != 1 || boxes[0][1] != "t-1" {
		t.Errorf("boxes %v", boxes)
	}
}

func TestCharactersThatDeceiveAreShown(t *testing.T) {
	bad := task()
	bad.Text, bad.Principal = "pay \u202e001 \u2066now", "al\u200bma"
	wants(t, text(t, page.TaskList(page.List{Page: request.Page{Tasks: []request.Task{bad}}})), "|pay ⟦U+202E⟧001 ⟦U+2066⟧now|", "|al⟦U+200B⟧ma|")
}

func TestEveryStateHasAShapeOfItsOwn(t *testing.T) {
	shapes := map[string]request.State{}
	for _, s := range append([]request.State{request.Answered, request.StepSkipped}, request.States...) {
		got := html(t, page.TaskList(page.List{Page: request.Page{Tasks: []request.Task{{ID: "t", State: s}}}}))
		row := got[strings.Index(got, "<tbody"):]
		icon := regexp.MustCompile(`(?s)<svg.*?</svg>`).FindString(row)
		if other, ok := shapes[icon]; ok {
			t.Errorf("%s looks like %s", s, other)
		}
		shapes[icon] = s
	}
}

func TestAStateOfALaterReleaseIsShownAsItIsNamed(t *testing.T) {
	got := html(t, page.TaskList(page.List{Page: request.Page{Tasks: []request.Task{{ID: "t", State: request.FromWire(`TASK_STATE_"><B`)}}}}))
	wants(t, got, "&#34;&gt;&lt;b")
	if strings.Contains(got, `state-"`) || strings.Contains(got, "<b\"") {
		t.Errorf("the name reached the markup: %s", got)
	}
}

// whole is a page with a body.
func whole(body templ.Component) templ.Component {
	return page.Page(page.Frame{}, page.View{Title: "x", Body: body})
}

// hostile is text that would do harm if it were taken for markup, in every field
// that comes from outside.
const hostile = `</script><script>alert(1)</script><img src=x onerror="alert(2)">" onfocus='alert(3)' &amp;` + "\r\nevent: tasks\r\n"

func TestHostileTextStaysText(t *testing.T) {
	bad := request.Task{
		ID: "t-1", ContextID: hostile, TraceID: hostile, Agent: hostile, Skill: hostile, State: request.State(hostile), Note: hostile, Text: hostile,
		Principal: hostile, Caller: hostile, Replica: hostile, Created: noon, Changed: noon,
		Plan: request.Plan{Playbook: hostile, Version: hostile, Steps: []request.Step{{Name: hostile, Agent: hostile, Skill: hostile, State: request.State(hostile), Reason: hostile, WaitsFor: hostile, Description: hostile, Needs: []string{hostile}, Child: hostile, Inputs: hostile, Output: hostile, Risk: hostile}}, Reasons: []string{hostile}, ForkedFrom: hostile, ForkedAt: hostile, MayFork: true},
	}
	hop := request.Hop{TaskID: hostile, Caller: hostile, Agent: hostile, Skill: hostile, Outcome: request.State(hostile), Reason: hostile, Admission: hostile, Started: noon}
	for name, c := range map[string]templ.Component{
		"list":     page.Page(page.Frame{Topic: hostile, Toast: page.Toast{Text: hostile, Tone: hostile}, Person: &person.Person{Name: hostile, Principal: identity.Principal{Subject: hostile, Scopes: []string{hostile}}}, Theme: hostile}, page.View{Title: hostile, Body: page.TaskList(page.List{Page: request.Page{Tasks: []request.Task{bad}, Next: hostile}})}),
		"plan":     whole(page.TaskPlan(page.Detail{Task: bad, Now: noon, TraceURL: "https://traces.example/{trace_id}"})),
		"timeline": whole(page.TaskTimeline(page.Detail{Task: bad, Hops: []request.Hop{hop}, Missing: []string{hostile}, Now: noon})),
		"content": whole(page.TaskContent(bad, request.Content{
			Messages:  []request.Message{{ID: hostile, Parts: []request.Part{{Text: hostile}, {Data: hostile}, {File: []byte(hostile), Name: hostile, Type: hostile}, {URL: "javascript:" + hostile}}}},
			Artifacts: []request.Artifact{{ID: hostile, Name: hostile, Description: hostile, Step: hostile, Parts: []request.Part{{Labels: []string{hostile}}}}},
		}, "")),
		"events":  whole(page.TaskEvents(page.History{Task: bad, Events: request.Events{List: []request.Event{{Kind: hostile, State: hostile, Text: hostile, Raw: []byte(hostile)}}}})),
		"problem": whole(page.Problem(hostile, hostile)),
		"unread":  page.Page(page.Frame{}, page.View{Unread: hostile}),
	} {
		got := html(t, c)
		if n := strings.Count(got, "<script"); n != 1 {
			t.Errorf("%s: %d scripts, want its own alone", name, n)
		}
		for _, harm := range []string{"<img", `" onfocus=`, "<script>"} {
			if strings.Contains(got, harm) {
				t.Errorf("%s contains %s", name, harm)
			}
		}
		wants(t, got, "&lt;script&gt;alert(1)")
	}
}

func TestWhatCannotBeReadIsSaidAndSinceWhen(t *testing.T) {
	unread := page.View{Unread: "The planner"}
	wants(t, text(t, page.Live("/tasks", unread, time.Time{})), "The planner cannot be reached.", "This page fills itself as soon as there is an answer.")
	unread.Body = page.TaskList(page.List{Page: request.Page{Tasks: []request.Task{task()}}})
	wants(t, text(t, page.Live("/tasks", unread, noon)), "The planner cannot be reached.|What you see is from|2026-03-01 12:00:00 UTC|. It is brought up to date", "How much leave?")
}

func TestTheNavigationMarksWhereOneIs(t *testing.T) {
	got := html(t, page.Page(page.Frame{Person: &person.Person{Name: "Alma Rao", Principal: identity.Principal{Subject: "alma", Scopes: []string{"operator", "group:credit"}}}}, page.View{Section: page.Playbooks}))
	marked := regexp.MustCompile(`<a href="([^"]*)"[^>]*aria-current="page"`).FindAllStringSubmatch(got, -1)
	if len(marked) != 1 || marked[0][1] != "/playbooks" {
		t.Errorf("marked: %v", marked)
	}
	wants(t, got, ">AR<", ">Alma Rao<", ">operator<", `data-key="g t"`)
}

func TestAnEmptyListSaysHowToBegin(t *testing.T) {
	got := html(t, page.TaskList(page.List{}))
	wants(t, got, "No tasks yet", "<code>export SABHA_KEY=sk-…\nsabha ask &#34;")
	wants(t, text(t, page.TaskList(page.List{Text: "state:failed"})), "No task matches", "Show all tasks")
	searching := page.TaskList(page.List{Text: "lighthouse", Page: request.Page{Next: "t9"}})
	wants(t, text(t, searching), "No task matches so far", "Only the newer part of the list has been searched", "Older")
}

func TestThePageNeedsNothingThatItsPolicyForbids(t *testing.T) {
	got := html(t, whole(page.TaskTimeline(page.Detail{Task: task(), Now: noon, Hops: []request.Hop{{Started: noon}}})))
	got += html(t, whole(page.TaskPlan(page.Detail{Task: task(), Now: noon})))
	for _, forbidden := range []string{" style=", "<style", " onclick", "javascript:", "http://", "https://", "TemplFailedSanitization"} {
		if strings.Contains(got, forbidden) {
			t.Errorf("the page contains %s", forbidden)
		}
	}
	all, _, err := page.Assets()
	if err != nil {
		t.Fatal(err)
	}
	script := slices.Concat(all["console.js"].Body, all["stream.js"].Body)
	for _, forbidden := range []string{"eval(", "new Function", "document.write", "innerHTML"} {
		if strings.Contains(string(script), forbidden) {
			t.Errorf("the script contains %s", forbidden)
		}
	}
}

func TestLinksChangeWithTheContent(t *testing.T) {
	_, l, err := page.Assets()
	if err != nil {
		t.Fatal(err)
	}
	for _, link := range []string{l.Style, l.Script, l.Worker, l.Mark} {
		if !regexp.MustCompile(`^/static/[a-z.]+\?v=[0-9a-f]{16}$`).MatchString(link) {
			t.Errorf("link %q", link)
		}
	}
}
