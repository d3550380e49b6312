//go:build slow

package observability_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sabha.dev/chassis/clock"
	"sabha.dev/chassis/identity"
	"sabha.dev/chassis/service"
	"sabha.dev/services/security"
	"sabha.dev/testrig/freeport"
	"sabha.dev/testrig/leftout"
	"sabha.dev/testrig/natstest"
)

// monitor is Debian's Prometheus with the rules of the compose profile, scraping
// each second.
type monitor struct {
	t       *testing.T
	address string
}

func watch(t *testing.T, key string, targets ...string) *monitor {
	t.Helper()
	program := leftout.Program(t, "prometheus", install)
	dir := t.TempDir()
	rules, err := filepath.Abs(configuration + "/rules/sabha.yaml")
	if err != nil {
		t.Fatal(err)
	}
	config := fmt.Sprintf(`global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [%q]
scrape_configs:
  - job_name: sabha
    honor_labels: true
    authorization: {credentials: %q}
    static_configs: [{targets: [%s]}]
`, rules, key, strings.Join(targets, ", "))
	if err := os.WriteFile(filepath.Join(dir, "prometheus.yaml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	ports, err := freeport.Find(1)
	if err != nil {
		t.Fatal(err)
	}
	m := &monitor{t, fmt.Sprintf("127.0.0.1:%d", ports[0])}
	cmd := exec.Command(program, "--config.file="+filepath.Join(dir, "prometheus.yaml"), "--storage.tsdb.path="+filepath.Join(dir, "data"),
		"--web.listen-address="+m.address, "--log.level=warn")
	cmd.Stderr = t.Output()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return m
}

// get asks the API of Prometheus.
func (m *monitor) get(path string, into any) error {
	res, err := http.Get("http://" + m.address + "/api/v1/" + path)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	var answer struct {
		Status, Error string
		Data          json.RawMessage
	}
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil {
		return err
	}
	if answer.Status != "success" {
		return fmt.Errorf("%s: %s", path, answer.Error)
	}
	return json.Unmarshal(answer.Data, into)
}

// series counts the series that an expression gives.
func (m *monitor) series(expr string) (int, error) {
	var data struct{ Result []json.RawMessage }
	err := m.get("query?query="+url.QueryEscape(expr), &data)
	return len(data.Result), err
}

// alerts gives the state of each alert that is not inactive, by name and service.
func (m *monitor) alerts() (map[string]string, error) {
	var data struct {
		Alerts []struct {
			Labels map[string]string
			State  string
		}
	}
	err := m.get("alerts", &data)
	states := map[string]string{}
	for _, a := range data.Alerts {
		states[a.Labels["alertname"]+" "+a.Labels["service"]] = a.State
	}
	return states, err
}

type rule struct {
	Name, Query, Health, LastError string
}

func (m *monitor) rules() ([]rule, error) {
	var data struct{ Groups []struct{ Rules []rule } }
	err := m.get("rules?type=alert", &data)
	var all []rule
	for _, g := range data.Groups {
		all = append(all, g.Rules...)
	}
	return all, err
}

// lonely is a service with a NATS server of its own, so that one can be stopped.
func lonely(t *testing.T) (address string, nats *natstest.Server) {
	t.Helper()
	dir := t.TempDir()
	if err := identity.MakeKeys(dir, security.Name); err != nil {
		t.Fatal(err)
	}
	nats = natstest.New(t)
	ports, err := freeport.Find(2)
	if err != nil {
		t.Fatal(err)
	}
	address = net.JoinHostPort("127.0.0.1", fmt.Sprint(ports[0]))
	env := service.Env{Clock: clock.System{}, Log: slog.New(slog.NewTextHandler(t.Output(), nil)), Registry: prometheus.NewRegistry(), Network: service.TCP{}, Release: "test"}
	r, err := service.Start(t.Context(), security.New(security.Config{Config: service.Config{
		GRPC: net.JoinHostPort("127.0.0.1", fmt.Sprint(ports[1])), HTTP: address, Database: "sqlite:" + filepath.Join(dir, "security.db"), NATS: nats.URL(), Keys: dir,
	}}), env)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Stop(t.Context()) })
	return address, nats
}

var selector = regexp.MustCompile(`\b(?:sabha_[a-z_]+|up|process_start_time_seconds)\b`)

// Every expression is evaluated over the series of real services and finds them;
// with all well nothing fires, and when NATS is stopped its alert does.
func TestAlertsSeeRealServices(t *testing.T) {
	r := start(t)
	if _, body := r.http("POST", "/message:send", jsonOf(t, ask(question))); !strings.Contains(body, "every six hours") {
		t.Fatal(body)
	}
	alone, nats := lonely(t)
	m := watch(t, r.key, r.p.HTTPAddr(), alone)
	await(t, func() error {
		n, err := m.series(`up{job="sabha"} == 1`)
		if err == nil && n != 2 {
			err = fmt.Errorf("%d targets are up", n)
		}
		return err
	})
	await(t, func() error {
		rules, err := m.rules()
		if err != nil {
			return err
		}
		if len(rules) < 10 {
			return fmt.Errorf("only the rules %v", rules)
		}
		for _, rule := range rules {
			if rule.Health != "ok" {
				return fmt.Errorf("%s is %q: %s", rule.Name, rule.Health, rule.LastError)
			}
			for _, name := range selector.FindAllString(rule.Query, -1) {
				switch name {
				case "sabha_push_lag_seconds_bucket", "sabha_spans_lost_total", "sabha_admissions_total",
					"sabha_review_overdue", "sabha_review_notices_total", "sabha_partner_cards_lost",
					"sabha_partner_breaker", "sabha_partner_contract_findings", "sabha_partner_attained", "sabha_partner_error_budget_left",
					"sabha_mcp_server_up", "sabha_mcp_tools": // only when there is something to tell
					continue
				}
				if n, err := m.series(name); err != nil || n == 0 {
					return fmt.Errorf("%s: %d series of %s, %v", rule.Name, n, name, err)
				}
			}
		}
		return nil
	})
	if states, err := m.alerts(); err != nil || len(states) > 0 {
		t.Errorf("with all well: %v, %v", states, err)
	}
	nats.Stop()
	const fires = "SabhaNATSDown security"
	for end := time.Now().Add(3 * patience); ; time.Sleep(200 * time.Millisecond) {
		states, err := m.alerts()
		if err != nil {
			t.Fatal(err)
		}
		if states[fires] == "firing" {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("NATS is stopped, and the alerts are %v", states)
		}
	}
	if err := nats.Start(); err != nil {
		t.Fatal(err)
	}
	await(t, func() error {
		if states, err := m.alerts(); err != nil || states[fires] != "" {
			return fmt.Errorf("NATS is back, and the alerts are %v, %v", states, err)
		}
		return nil
	})
}
