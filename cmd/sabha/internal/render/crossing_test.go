package render_test

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"sabha.dev/cmd/sabha/internal/render"
	partnersv1 "sabha.dev/gen/sabha/partners/v1"
)

func TestCrossingsTellWhatWasDoneAboutWhatWasFound(t *testing.T) {
	at := timestamppb.New(time.Date(2026, 1, 2, 10, 0, 0, 0, time.UTC))
	got := strings.Join(render.Style{}.Crossings([]*partnersv1.Crossing{
		{At: at, Direction: partnersv1.Direction_DIRECTION_IN, Partner: "underwriter", Skill: "underwrite", Bytes: 512, Policy: "3/abc"},
		{At: at, Direction: partnersv1.Direction_DIRECTION_OUT, Partner: "underwriter", Skill: "underwrite", Bytes: 300, Policy: "3/abc", MoreFindings: 2, Findings: []*partnersv1.Detection{
			{Class: "email", Action: "mask", Rule: "through the bank", Start: 4, End: 9},
			{Part: 1, Path: "income\x1b[2J", Class: "finances", Action: "allow"},
		}},
		{At: at, Direction: partnersv1.Direction_DIRECTION_OUT, Partner: "mute", Skill: "say", Refused: true, Policy: "1/f"},
	}), "\n")
	want := `2026-01-02 10:00:00  from underwriter/underwrite  512 bytes  by agreement 3/abc
2026-01-02 10:00:00  to   underwriter/underwrite  300 bytes  by agreement 3/abc
  mask     email in part 1 bytes 4-9, by through the bank
  allow    finances in part 2 income [2J
  and 2 more
2026-01-02 10:00:00  to   mute/say  refused  by agreement 1/f`
	if got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if none := (render.Style{}).Crossings(nil); len(none) != 1 || none[0] != "Nothing has crossed." {
		t.Error(none)
	}
}
