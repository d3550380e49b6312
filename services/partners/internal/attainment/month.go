package attainment

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"google.golang.org/protobuf/encoding/protojson"

	partnersv1 "sabha.dev/gen/sabha/partners/v1"
)

// monthForm is how months are written.
const monthForm = "2006-01"

// month gives where a month begins and ends, UTC.
func month(text string) (from, to time.Time, err error) {
	if from, err = time.Parse(monthForm, text); err != nil {
		return from, to, fmt.Errorf("%q is not a month; write it as 2026-11", text)
	}
	return from, from.AddDate(0, 1, 0), nil
}

// CSV writes a report as one line for each thing that was agreed on.
func CSV(w io.Writer, r *partnersv1.GetAttainmentResponse) error {
	out := csv.NewWriter(w)
	write := func(cells ...string) { _ = out.Write(cells) } // Error gives it at the end
	write("partner", "skill", "from", "to", "agreement", "target", "unit", "agreed", "measured", "margin", "status",
		"ok", "failed", "invalid", "throttled", "abandoned", "in_maintenance", "error_budget_left")
	number := func(v float64) string { return strconv.FormatFloat(math.Round(v*1e6)/1e6, 'f', -1, 64) }
	count := func(v int64) string { return strconv.FormatInt(v, 10) }
	for _, s := range r.GetSkills() {
		left := ""
		if b := s.GetErrorBudget(); b != nil {
			left = number(b.GetLeft())
		}
		c := s.GetCalls()
		for _, t := range s.GetTargets() {
			measured, margin := number(t.GetMeasured()), number(t.GetMargin())
			if t.GetStatus() == partnersv1.Status_STATUS_UNKNOWN {
				measured, margin = "", ""
			}
			write(r.GetPartner(), s.GetSkill(), r.GetFrom().AsTime().Format(time.RFC3339), r.GetTo().AsTime().Format(time.RFC3339), r.GetAgreementVersion(),
				t.GetName(), t.GetUnit(), number(t.GetAgreed()), measured, margin, statusName(t.GetStatus()),
				count(c.GetOk()), count(c.GetFailed()), count(c.GetInvalid()), count(c.GetThrottled()), count(c.GetAbandoned()), count(c.GetInMaintenance()), left)
		}
	}
	out.Flush()
	return out.Error()
}

// Writer writes the reports of each month that is over to a folder, once over all replicas.
type Writer struct {
	Folder string
	*Desk
}

// Times of writing: not before the last counts of the month are there, and by another
// replica when one has not ended in time.
const (
	monthSettles = 10 * time.Minute
	writesWithin = 10 * time.Minute
)

// Write writes the reports of the month before, unless that was done: PARTNER-2026-11.json,
// .csv and -callers.csv for each agreement in force. It tells whether it wrote them.
func (w *Writer) Write(ctx context.Context) (bool, error) {
	now := w.Ledger.clock.Now().UTC()
	first := time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)
	if now.Before(first.Add(monthSettles)) {
		return false, nil
	}
	name := first.AddDate(0, -1, 0).Format(monthForm)
	mine, err := w.Ledger.claim(ctx, name, now)
	if err != nil || !mine {
		return false, err
	}
	for _, a := range w.Book.All() {
		r, err := w.report(ctx, a, &partnersv1.GetAttainmentRequest{Partner: a.Partner, Month: name})
		if err != nil {
			return false, err
		}
		if err := w.file(r, a.Partner+"-"+name); err != nil {
			return false, err
		}
	}
	_, err = w.Ledger.db.Write.ExecContext(ctx, `UPDATE partner_reports SET done = 1 WHERE month = $1`, name)
	return err == nil, err
}

// claim takes the writing of a month, unless it was done or another is at it.
func (s *Store) claim(ctx context.Context, name string, now time.Time) (bool, error) {
	res, err := s.db.Write.ExecContext(ctx, `INSERT INTO partner_reports (month, until, done) VALUES ($1, $2, 0)
		ON CONFLICT (month) DO UPDATE SET until = excluded.until WHERE partner_reports.done = 0 AND partner_reports.until <= $3`,
		name, now.Add(writesWithin).Unix(), now.Unix())
	if err != nil {
		return false, err
	}
	n, err := res.RowsAffected()
	return n == 1, err
}

// file writes all forms, each whole or not at all.
func (w *Writer) file(r *partnersv1.GetAttainmentResponse, name string) error {
	if err := os.MkdirAll(w.Folder, 0o750); err != nil {
		return err
	}
	for ext, write := range map[string]func(io.Writer) error{
		".csv":         func(out io.Writer) error { return CSV(out, r) },
		"-callers.csv": func(out io.Writer) error { return CallersCSV(out, r) },
		".json": func(out io.Writer) error {
			body, err := protojson.MarshalOptions{Multiline: true, UseProtoNames: true, EmitUnpopulated: true}.Marshal(r)
			if err == nil {
				_, err = out.Write(append(body, '\n'))
			}
			return err
		},
	} {
		f, err := os.CreateTemp(w.Folder, "."+name+"-*")
		if err != nil {
			return err
		}
		err = write(f)
		if closed := f.Close(); err == nil {
			err = closed
		}
		if err == nil {
			err = os.Chmod(f.Name(), 0o640)
		}
		if err == nil {
			err = os.Rename(f.Name(), filepath.Join(w.Folder, name+ext))
		}
		if err != nil {
			_ = os.Remove(f.Name())
			return err
		}
	}
	return nil
}
