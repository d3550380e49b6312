package command_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sabha.dev/chassis/fault"
	"sabha.dev/cmd/sabha/internal/command"
	"sabha.dev/cmd/sabha/internal/rig"
	partnersv1 "sabha.dev/gen/sabha/partners/v1"
)

func TestContractCheckSaysWhatIsWrongAndWhatIsTooSmall(t *testing.T) {
	dir := t.TempDir()
	good, bad := filepath.Join(dir, "good.yaml"), filepath.Join(dir, "bad.yaml")
	for file, text := range map[string]string{
		good: "partner: underwriter\nowner: o\nmeasures: {rate: {number: data.rate}}\ntasks: {loan: {skill: s, text: hello, repeats: 2}}\n",
		bad:  "partner: underwriter\nowner: o\ntasks: {loan: {skil: s, text: hello}}\n",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	u := newUser("")
	if code := u.run(t.Context(), "contract", "check", good, bad); code != command.ExitFailure {
		t.Errorf("exit code %d", code)
	}
	if got, want := u.out.String(), good+": partner underwriter is sound, 1 golden task, 2 calls a run\n"+good+": note: rate: a run gives 2 values of it; it needs at least 8"; !strings.HasPrefix(got, want) {
		t.Errorf("output %q, want %q", got, want)
	}
	if got := u.err.String(); !strings.HasPrefix(got, bad+`:3: tasks.loan: unknown key "skil"`) {
		t.Errorf("standard error %q", got)
	}
	u = newUser("")
	if code := u.run(t.Context(), "contract", "check", filepath.Join(dir, "none.yaml")); code != command.ExitNotFound {
		t.Errorf("exit code %d for a file that is not there", code)
	}
}

// behaviour is a contract service with one partner.
type behaviour struct {
	partnersv1.UnimplementedContractServiceServer
}

func (behaviour) ListSuites(context.Context, *partnersv1.ListSuitesRequest) (*partnersv1.ListSuitesResponse, error) {
	return &partnersv1.ListSuitesResponse{Suites: []*partnersv1.Suite{{Partner: "underwriter", Tasks: 10, Calls: 20, Open: []*partnersv1.Finding{{Kind: "drift"}}}}}, nil
}

func (behaviour) RunSuite(_ context.Context, req *partnersv1.RunSuiteRequest) (*partnersv1.RunSuiteResponse, error) {
	if req.GetPartner() != "underwriter" {
		return nil, fault.New(fault.PartnerNotFound, "there are no golden tasks for %q", req.GetPartner())
	}
	return &partnersv1.RunSuiteResponse{First: 7, Last: 6 + int64(req.GetRuns())}, nil
}

func (behaviour) ListRuns(context.Context, *partnersv1.ListRunsRequest) (*partnersv1.ListRunsResponse, error) {
	return &partnersv1.ListRunsResponse{Runs: []*partnersv1.Run{{Number: 7, State: "done", Calls: 10, Good: 9, Look: 0.00025}}}, nil
}

func (behaviour) GetVerdict(context.Context, *partnersv1.GetVerdictRequest) (*partnersv1.GetVerdictResponse, error) {
	return &partnersv1.GetVerdictResponse{
		Partner: "underwriter", State: "drift", Recorded: 100, Baseline: &partnersv1.Baseline{Number: 1, Size: 100, Reason: "the first runs"},
		Findings: []*partnersv1.Finding{{Run: 7, Kind: "drift", Action: "suspend", Reason: "the level of rate moved\x1b[2J"}},
		Figures: &partnersv1.Figures{Runs: 20, BaselineRuns: 100, Measures: []*partnersv1.Measure{
			{Name: "rate", Kind: "number", Baseline: &partnersv1.Summary{Mean: 3.5, Deviation: 0.25}, Now: &partnersv1.Summary{Mean: 3.625, Deviation: 0.25}},
			{Name: "verdict", Kind: "category", Baseline: &partnersv1.Summary{Values: 4, Categories: map[string]int32{"refer": 1, "approve": 3}}, Now: &partnersv1.Summary{Values: 2, Categories: map[string]int32{"refer": 2}}},
		}},
	}, nil
}

func (behaviour) Rebaseline(_ context.Context, req *partnersv1.RebaselineRequest) (*partnersv1.RebaselineResponse, error) {
	if req.GetReason() == "" {
		return nil, fault.Invalid("reason", "is empty")
	}
	return &partnersv1.RebaselineResponse{Baseline: &partnersv1.Baseline{Number: 2, Size: 100}}, nil
}

func TestBehaviourIsSeenAndTestedOnTheCommandLine(t *testing.T) {
	server := rig.Start(t, rig.Script{Contracts: behaviour{}})
	for _, c := range []struct {
		args string
		code command.Code
		want []string
	}{
		{"contract list", 0, []string{"underwriter", "drift"}},
		{"contract test underwriter", 0, []string{"Run 7 of underwriter is asked for."}},
		{"contract test underwriter --runs 100", 0, []string{"Runs 7 to 106 of underwriter are asked for. See them with: sabha contract runs underwriter"}},
		{"partner test underwriter --runs 2", 0, []string{"Runs 7 to 8 of underwriter are asked for."}},
		{"partner runs underwriter", 0, []string{"9 of 10"}},
		{"contract test nobody", command.ExitNotFound, []string{"there are no golden tasks"}},
		{"contract runs underwriter", 0, []string{"9 of 10", "0.00025", "schedule"}},
		{"contract show underwriter", 0, []string{"underwriter: drift", "100 of 100 runs", "run 7, drift (stands; suspend): the level of rate moved", "3.5 ± 0.25", "3.625 ± 0.25", "verdict refer", "25.0%", "100.0%"}},
		{"contract show underwriter --json", 0, []string{`"state":"drift"`}},
		{"contract rebaseline underwriter", command.ExitUsage, []string{"is empty"}},
		{"contract rebaseline underwriter --reason new-model", 0, []string{"Baseline 2 of underwriter begins; it needs 100 runs."}},
	} {
		u := newUser(server.URL)
		code := u.run(t.Context(), strings.Fields(c.args)...)
		said := u.out.String() + u.err.String()
		for _, want := range c.want {
			if !strings.Contains(said, want) {
				t.Errorf("%s says %q, want %q", c.args, said, want)
			}
		}
		if code != c.code || strings.Contains(said, "\x1b") {
			t.Errorf("%s: exit code %d: %q", c.args, code, said)
		}
	}
}
