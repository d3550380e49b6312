package docs

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

const observability = "/deploy/compose/observability"

var (
	ours   = regexp.MustCompile(`\bsabha_[a-z_]+`)
	anchor = regexp.MustCompile(`^docs/runbooks\.md#([a-z]+)$`)
	// foreign are metrics of libraries that the rules and dashboards use.
	foreign = []string{"up", "process_resident_memory_bytes", "process_cpu_seconds_total", "process_start_time_seconds", "go_sql_in_use_connections", "go_sql_wait_count_total"}
	// counted are the suffixes that a histogram adds.
	counted = regexp.MustCompile(`_(bucket|sum|count)$`)
)

// expression checks that every metric in it is one that the services have.
func expression(t *testing.T, where, expr string, code []string) {
	t.Helper()
	found := false
	for _, name := range ours.FindAllString(expr, -1) {
		found = true
		if name = counted.ReplaceAllString(name, ""); !slices.Contains(code, name) {
			t.Errorf("%s asks for %s, which the code does not have", where, name)
		}
	}
	for _, name := range foreign {
		found = found || strings.Contains(expr, name)
	}
	if !found {
		t.Errorf("%s: no known metric in %q", where, expr)
	}
}

func TestEveryAlertAsksForMetricsThatExistAndHasARunbook(t *testing.T) {
	raw, err := os.ReadFile(root + observability + "/rules/sabha.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Groups []struct {
			Rules []struct {
				Alert, Expr string
				Annotations map[string]string
			}
		}
	}
	if err := yaml.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	code, pages := metrics(t), read(t, "docs/runbooks.md")
	var alerts []string
	for _, g := range file.Groups {
		for _, r := range g.Rules {
			alerts = append(alerts, r.Alert)
			expression(t, r.Alert, r.Expr, code)
			page := anchor.FindStringSubmatch(r.Annotations["runbook_url"])
			if page == nil || page[1] != strings.ToLower(r.Alert) || r.Annotations["summary"] == "" {
				t.Errorf("%s has the annotations %v", r.Alert, r.Annotations)
			}
			_, after, found := strings.Cut(pages.text(), "\n### "+r.Alert+"\n")
			body, _, _ := strings.Cut(after, "\n### ")
			if !found || !strings.Contains(body, "**Means.**") || !strings.Contains(body, "**Look") || !strings.Contains(body, "o.**") {
				t.Errorf("docs/runbooks.md does not say what %s means, where to look and what to do", r.Alert)
			}
		}
	}
	if len(alerts) < 10 {
		t.Fatalf("only the alerts %v were found", alerts)
	}
	for _, l := range strings.Split(pages.text(), "\n") {
		if name, ok := strings.CutPrefix(l, "### "); ok && !slices.Contains(alerts, name) {
			t.Errorf("docs/runbooks.md has a page for %s, which is no alert", name)
		}
	}
	cases, err := os.ReadFile(root + observability + "/rules_test.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range alerts {
		if !strings.Contains(string(cases), "alertname: "+name+"\n") {
			t.Errorf("no case in rules_test.yaml has %s fire", name)
		}
	}
}

func TestEveryDashboardAsksForMetricsThatExist(t *testing.T) {
	files, err := filepath.Glob(root + observability + "/grafana/dashboards/*.json")
	if err != nil || len(files) < 4 {
		t.Fatalf("%v, %v", files, err)
	}
	code := metrics(t)
	shown := map[string]bool{}
	uids := map[string]bool{}
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		var board struct {
			UID, Title string
			Panels     []struct {
				Title       string
				FieldConfig struct {
					Defaults struct{ Unit string }
				}
				Targets []struct{ Expr string }
			}
		}
		if err := json.Unmarshal(raw, &board); err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		if uids[board.UID] || board.UID == "" || len(board.Panels) == 0 {
			t.Errorf("%s: uid %q, %d panels", f, board.UID, len(board.Panels))
		}
		uids[board.UID] = true
		for _, p := range board.Panels {
			where := board.Title + " / " + p.Title
			if p.FieldConfig.Defaults.Unit == "" || len(p.Targets) == 0 {
				t.Errorf("%s has no unit or asks for nothing", where)
			}
			for _, target := range p.Targets {
				expression(t, where, target.Expr, code)
				for _, name := range ours.FindAllString(target.Expr, -1) {
					shown[counted.ReplaceAllString(name, "")] = true
				}
			}
		}
	}
	for _, name := range code {
		if !shown[name] && name != "sabha_build_info" && name != "sabha_commit_writes" {
			t.Errorf("no dashboard shows %s", name)
		}
	}
}
