package page_test

import (
	"regexp"
	"testing"
	"time"

	"sabha.dev/services/console/internal/page"
	"sabha.dev/services/console/internal/request"
)

func TestTheDashboardTellsWhatNeedsAPersonAndWhatIsStuckAndWhy(t *testing.T) {
	stuck := planned()
	o := page.Overview{
		People: request.Page{Tasks: []request.Task{task()}}, Stuck: request.Page{Tasks: []request.Task{stuck}, Next: "more"},
		Reviews: &page.Reviews{Open: 12, Unassigned: 9, Mine: 1, Overdue: 2},
		Levels: []page.Level{
			{Queue: "General", Day: page.InTime{Ended: 40, InTime: 40}, Week: page.InTime{Ended: 80, InTime: 78}},
			{Queue: "Lending", Week: page.InTime{Ended: 2, InTime: 1}},
		},
		Figures: request.Figures{
			Span: page.Day, Tasks: map[request.State]int64{request.InputRequired: 7, request.Working: 1200, request.Submitted: 34},
			Buckets: []request.Bucket{{From: noon, Started: 10, Completed: 6, Failed: 2, Canceled: 1}, {From: noon.Add(time.Hour), Started: 20, Completed: 20}},
			Skills:  []request.Skill{{Agent: "research", Skill: "investigate", Calls: 40, Failures: 3, P50: 20 * time.Millisecond, P95: 1500 * time.Millisecond}},
			Missing: []string{"memory"},
		},
	}
	wants(t, text(t, page.DashboardPage(o)), "|Wait for a decision|12|9 unassigned|", "|Overdue decisions|2|1 held by you|", "|Wait for the requester|7|", "|Running|1\u202f234|34 submitted|",
		"|Failed or rejected|2|of 30 in the last day|", "|30 began in the last day, 26 completed|", "|10 began, 6 completed, 2 failed, 1 canceled|",
		"|draft: attempt 2 of 3 · no model|", "|All of them|", "|research|investigate|40|3 · 7.5 %|20 ms|1.5 s|", "|General|100.0 % of 40|97.5 % of 80|", "|Lending|none ended|50.0 % of 2|", "|memory gave no figures.|")
	got := html(t, page.DashboardPage(o))
	// The first column is half as high as the second: 30, 10, 5 and 5 of 100.
	blocks := regexp.MustCompile(`<rect class="state-([a-z]+)" x="3" y="([0-9.]+)" width="14" height="([0-9.]+)"`).FindAllStringSubmatch(got, -1)
	var all string
	for _, b := range blocks {
		all += b[1] + " " + b[2] + "+" + b[3] + " "
	}
	if all != "completed 74.0+30.0 failed 64.0+10.0 canceled 59.0+5.0 working 54.0+5.0 " {
		t.Errorf("the first column is %s", all)
	}
	wants(t, got, `href="/tasks?q=state%3Afailed%2Crejected+age%3A%3C1d"`, `href="/tasks?q=state%3Asubmitted%2Cworking+age%3A%3E15m"`, `href="/?span=1d" aria-current="page"`)
}

func TestAnEmptyDashboardSaysThatAllIsWell(t *testing.T) {
	wants(t, text(t, page.DashboardPage(page.Overview{Figures: request.Figures{Span: page.Hour}})), "Nobody is waited for.", "Nothing is stuck.", "No request began in this time.", "No call was recorded in this time.")
}

func TestAPlaybookIsShownWithItsGraphItsCheckAndItsRuns(t *testing.T) {
	p := request.Playbook{
		Name: "home loan", Version: "3", Description: "Decides on a loan.", Risk: "high", Source: "playbook: home loan\n", Problems: []string{"step x is not needed"}, Versions: []string{"3", "2"},
		Steps: planned().Plan.Forward(), Runs: map[request.State]int64{request.Failed: 4}, LastRun: noon,
	}
	got := html(t, page.PlaybookPage(p, request.Page{Tasks: []request.Task{task()}}))
	wants(t, got, `href="/playbooks/home%20loan?version=2"`, `id="node-draft"`, `href="/tasks?q=playbook%3A%22home+loan%22+state%3Afailed"`, "playbook: home loan\n")
	wants(t, text(t, page.PlaybookPage(p, request.Page{})), "|high risk|", "|1 problem|", "|step x is not needed|", "|Never run.|")
	wants(t, text(t, page.PlaybookList([]request.Playbook{p, {Name: "new", StepCount: 1}})), "|home loan|version 3|Decides on a loan.|0 steps|high risk|", "|new|", "|1 step|", "|Never run|")
}
