package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

// withdrawnLate is taken back by the applicant when the offer has been made and the plan has
// ended: another plan undoes it, and a person agrees before the ledger is touched.
func (b *bank) withdrawnLate(ctx context.Context) error {
	if err := b.title("M-1001 again: the applicant withdraws after the offer"); err != nil {
		return err
	}
	held, err := b.held(ctx)
	if err != nil {
		return err
	}
	if held["M-1001"] == nil {
		return errors.New("the underwriter does not hold M-1001, which it has graded")
	}
	type end struct {
		said string
		err  error
	}
	asked := make(chan end, 1)
	go func() {
		file := "@" + filepath.Join(b.folder, "applications", "withdrawal.json")
		said, err := b.sabha(ctx, b.broker, completed, "ask", "--playbook", "mortgage-withdrawal", "--data", file)
		asked <- end{said, err}
	}()
	item, digest, err := b.waiting(ctx, "M-1001")
	if err != nil {
		return err
	}
	if lines, err := b.ledger("M-1001"); err != nil || len(lines) != 1 {
		return fmt.Errorf("the ledger has %+v of M-1001 before a person has agreed: %w", lines, err)
	}
	if _, err := b.sabha(ctx, b.asha, completed, "review", "approve", item, "--digest", digest, "--reason", "The applicant has withdrawn in writing."); err != nil {
		return err
	}
	ended := <-asked
	if ended.err != nil {
		return ended.err
	}
	if want := "the underwriter has erased it, the offer is taken back, and 2 consents are forgotten"; !strings.Contains(ended.said, want) {
		return fmt.Errorf("the withdrawal does not say that %s", want)
	}
	if held, err = b.held(ctx); err != nil {
		return err
	}
	if held["M-1001"] != nil {
		return errors.New("the underwriter still holds M-1001 after the withdrawal")
	}
	lines, err := b.ledger("M-1001")
	if err != nil {
		return err
	}
	if len(lines) != 2 || lines[0].Kind != "offer" || lines[1].Kind != "withdrawal" {
		return fmt.Errorf("the ledger has %+v instead of the offer and its withdrawal", lines)
	}
	if err := b.say("\nThe underwriter has erased M-1001; the ledger has the offer and its withdrawal."); err != nil {
		return err
	}
	task, err := b.newest(ctx)
	if err != nil {
		return err
	}
	res, err := b.sabha(ctx, b.operator, completed, "audit", "show", task)
	if err != nil {
		return err
	}
	for _, agent := range []string{"planner", "memory", "partners", "review", "executor"} {
		if !strings.Contains(res, "→ "+agent+"/") {
			return fmt.Errorf("the audit of the withdrawal does not name %s", agent)
		}
	}
	_, err = b.sabha(ctx, b.operator, completed, "partner", "crossings", "underwriter", "--task", task)
	return err
}
