package command_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"sabha.dev/chassis/fault"
	"sabha.dev/cmd/sabha/internal/command"
	"sabha.dev/cmd/sabha/internal/rig"
	partnersv1 "sabha.dev/gen/sabha/partners/v1"
)

// kept is what a platform tells of one partner.
type kept struct {
	partnersv1.UnimplementedAttainmentServiceServer
	asked *partnersv1.GetAttainmentRequest
}

func (k *kept) GetAttainment(_ context.Context, req *partnersv1.GetAttainmentRequest) (*partnersv1.GetAttainmentResponse, error) {
	if req.GetPartner() != "underwriter" {
		return nil, fault.New(fault.PartnerNotFound, "there is no agreement with %q", req.GetPartner())
	}
	k.asked = proto.CloneOf(req)
	return &partnersv1.GetAttainmentResponse{
		Partner: "underwriter", Organisation: "Underwriter plc\x1b[2J", AgreementVersion: "3",
		From: timestamppb.New(time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)), To: timestamppb.New(time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)),
		Skills: []*partnersv1.Attainment{{
			Skill: "underwrite", Calls: &partnersv1.Calls{Ok: 99, Failed: 1}, ErrorBudget: &partnersv1.ErrorBudget{Allowed: 2, Used: 1, Left: .5},
			Callers: []*partnersv1.Caller{{Caller: "bank/ada", Ok: 90, Slow: 2}, {Ok: 9, Failed: 1}},
			Targets: []*partnersv1.Target{
				{Name: "p95", Unit: "seconds", Agreed: 2, Measured: 2.5, Margin: -.5, Status: partnersv1.Status_STATUS_MISSED},
				{Name: "p99", Unit: "seconds", Agreed: 4, Status: partnersv1.Status_STATUS_UNKNOWN},
			},
		}},
	}, nil
}

func TestHowAnAgreementIsKeptIsTold(t *testing.T) {
	k := &kept{}
	server := rig.Start(t, rig.Script{Attainment: k}).URL
	u := newUser(server)
	if code := u.run(t.Context(), "agreement", "sla", "underwriter", "--month", "2026-11"); code != 0 || k.asked.GetMonth() != "2026-11" {
		t.Fatalf("exit code %d, %v\n%s", code, k.asked, u.err.String())
	}
	want := `underwriter (Underwriter plc [2J), agreement version 3, from 2026-11-01T00:00:00Z to 2026-12-01T00:00:00Z

underwrite: 99 ok, 1 failed, 0 invalid, 0 throttled, 0 given up by us, 0 in maintenance
  p95           missed    agreed 2, measured 2.5 seconds
  p99           unknown   agreed 4 seconds
  error budget: 50% left, 1 of 2 calls used
  by bank/ada: 90 ok, 0 failed, 0 invalid, 0 throttled, 0 given up by us, 2 slow
  by others: 9 ok, 1 failed, 0 invalid, 0 throttled, 0 given up by us, 0 slow
`
	if got := u.out.String(); got != want {
		t.Errorf("%q, want\n%q", got, want)
	}
	u = newUser(server)
	if code := u.run(t.Context(), "agreement", "sla", "underwriter", "--csv"); code != 0 || !strings.Contains(u.out.String(), "\nunderwriter,underwrite,2026-11-01T00:00:00Z,2026-12-01T00:00:00Z,3,p95,seconds,2,2.5,-0.5,missed,99,1,") {
		t.Errorf("exit code %d\n%s", code, u.out.String())
	}
	u = newUser(server)
	if code := u.run(t.Context(), "agreement", "sla", "underwriter", "--callers"); code != 0 || !strings.HasSuffix(u.out.String(), "Z,bank/ada,90,0,0,0,0,2\nunderwriter,underwrite,2026-11-01T00:00:00Z,2026-12-01T00:00:00Z,,9,1,0,0,0,0\n") {
		t.Errorf("exit code %d\n%s", code, u.out.String())
	}
	u = newUser(server)
	if code := u.run(t.Context(), "agreement", "sla", "underwriter", "--json"); code != 0 || !strings.Contains(u.out.String(), `"partner":"underwriter"`) {
		t.Errorf("exit code %d\n%s", code, u.out.String())
	}
	u = newUser(server)
	if code := u.run(t.Context(), "agreement", "sla", "other"); code != command.ExitNotFound || !strings.Contains(u.err.String(), `there is no agreement with "other"`) {
		t.Errorf("exit code %d\n%s", code, u.err.String())
	}
}

func TestAgreementsAreCheckedWithoutAPlatform(t *testing.T) {
	dir := t.TempDir()
	good, bad := filepath.Join(dir, "a.yaml"), filepath.Join(dir, "b.yaml")
	for path, text := range map[string]string{
		good: "partner: alpha\nversion: 1\nowner: o\nreview_date: 2999-01-01\norganisation: A\nskills: {s: {fallback: beta/s}}\n",
		bad:  "partner: beta\nversion: 1\nowner: o\nreview_date: 2999-01-01\norganisation: B\nskills: {s: {budget: 5}}\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	u := newUser("")
	if code := u.run(t.Context(), "agreement", "check", good, bad); code != command.ExitFailure {
		t.Errorf("exit code %d", code)
	}
	if got, want := u.out.String(), "alpha: version 1 of o is good; skills: 1\n"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, want := u.err.String(), bad+":6: skills.s.budget: \"5\" is not a duration; write numbers with the units h, m or s, such as 90m or 4h\n"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if code := newUser("").run(t.Context(), "agreement", "check", filepath.Join(dir, "c.yaml")); code != command.ExitNotFound {
		t.Errorf("exit code %d for a file that is not there", code)
	}
}
