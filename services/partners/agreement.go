package partners

import (
	"fmt"
	"io"
	"time"

	partnersv1 "sabha.dev/gen/sabha/partners/v1"
	"sabha.dev/services/partners/internal/agreement"
	"sabha.dev/services/partners/internal/attainment"
)

// CheckAgreement reads an agreement, or all of a folder, and tells about each: its version,
// skills and whether its review is past. The error is that of a file that cannot be used,
// one problem a line with its place. A single file is read with the others of its folder,
// where its fallbacks are.
func CheckAgreement(path string, now time.Time, out io.Writer) error {
	list, err := agreement.Check(path)
	if err != nil {
		return err
	}
	for _, a := range list {
		if _, err := fmt.Fprintf(out, "%s: version %s of %s is good; skills: %d\n", a.Partner, a.Version, a.Owner, len(a.Skills)); err != nil {
			return err
		}
		if overdue := a.Overdue(now); overdue != "" {
			if _, err := fmt.Fprintln(out, "warning: "+overdue); err != nil {
				return err
			}
		}
	}
	return nil
}

// AttainmentCSV writes a report as one line for each thing that was agreed on.
func AttainmentCSV(out io.Writer, r *partnersv1.GetAttainmentResponse) error {
	return attainment.CSV(out, r)
}

// CallersCSV writes who called the skills of a report, one caller a line.
func CallersCSV(out io.Writer, r *partnersv1.GetAttainmentResponse) error {
	return attainment.CallersCSV(out, r)
}

// Command is the program of the service: check-agreement FILE or FOLDER, or what run does
// with the other commands. It returns the exit code.
func Command(args []string, out io.Writer, run func([]string) int) int {
	if len(args) < 2 || args[1] != "check-agreement" {
		return run(args)
	}
	if len(args) != 3 {
		_, _ = fmt.Fprintln(out, "usage: check-agreement FILE|FOLDER")
		return 2
	}
	if err := CheckAgreement(args[2], time.Now(), out); err != nil {
		_, _ = fmt.Fprintln(out, err)
		return 1
	}
	return 0
}
