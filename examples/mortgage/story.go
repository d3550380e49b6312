package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"
)

// Exit codes of the command line: sabha help exit-codes.
const (
	completed     = 0
	canceled      = 5
	inputRequired = 6
)

func (b *bank) title(format string, args ...any) error {
	text := fmt.Sprintf(format, args...)
	return b.say("\n\n%s\n%s", text, strings.Repeat("=", len(text)))
}

// partner brings the underwriter in: the platform has read the card that the agreement names;
// it is verified, and a person approves what was shown.
func (b *bank) partner(ctx context.Context) error {
	if err := b.title("An operator takes the underwriter in"); err != nil {
		return err
	}
	if err := b.registered(ctx); err != nil {
		return err
	}
	if _, err := b.sabha(ctx, b.operator, completed, "partner", "verify", "underwriter"); err != nil {
		return err
	}
	if _, err := b.sabha(ctx, b.operator, completed, "partner", "show", "underwriter"); err != nil {
		return err
	}
	res, err := b.quiet(ctx, b.operator, "partner", "show", "underwriter", "--json")
	if err != nil {
		return err
	}
	var shown struct{ Partner struct{ Digest string } }
	if err := json.Unmarshal([]byte(res), &shown); err != nil {
		return err
	}
	if _, err := b.sabha(ctx, b.operator, completed, "partner", "approve", "underwriter", "--digest", shown.Partner.Digest); err != nil {
		return err
	}
	_, err = b.sabha(ctx, b.operator, completed, "partner", "rights", "underwriter", "--callable")
	return err
}

// registered waits until the platform has read the partner's card.
func (b *bank) registered(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	for {
		if _, err := b.quiet(ctx, b.operator, "partner", "show", "underwriter"); err == nil {
			return nil
		}
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("the underwriter is not registered: %w", ctx.Err())
		}
	}
}

// salaried is graded at once. The first assessment forgets the new instalment and is sent back.
func (b *bank) salaried(ctx context.Context) error {
	if err := b.title("M-1001: salaried, and sure enough to be decided without a person"); err != nil {
		return err
	}
	task, err := b.apply(ctx, "salaried", completed)
	if err != nil {
		return err
	}
	lines, err := b.ledger("M-1001")
	if err != nil {
		return err
	}
	if len(lines) != 1 || lines[0].Kind != "offer" || lines[0].Offer.Grade != "prime" || lines[0].Offer.Rate != 4.05 {
		return fmt.Errorf("the ledger has %+v instead of one prime offer at 4.05 %%", lines)
	}
	held, err := b.held(ctx)
	if err != nil {
		return err
	}
	kept, err := json.MarshalIndent(held["M-1001"], "  ", "  ")
	if err != nil {
		return err
	}
	if err := b.say("\nWhat the underwriter holds of M-1001:\n  %s", kept); err != nil {
		return err
	}
	for _, secret := range []string{"Moreau", "moreau", "FR14", "6 12 34 56 78"} {
		if strings.Contains(string(kept), secret) {
			return fmt.Errorf("the underwriter holds %q, which was not submitted for it", secret)
		}
	}
	return b.audit(ctx, task)
}

// selfEmployed meets a rule that the underwriter has made up: no revision helps, so people decide.
func (b *bank) selfEmployed(ctx context.Context) error {
	if err := b.title("M-1002: self-employed, under the threshold; people decide"); err != nil {
		return err
	}
	type end struct {
		task string
		err  error
	}
	applied := make(chan end, 1)
	go func() {
		task, err := b.apply(ctx, "self-employed", completed)
		applied <- end{task, err}
	}()
	item, digest, err := b.waiting(ctx, "M-1002")
	if err != nil {
		return err
	}
	if _, err := b.sabha(ctx, b.asha, completed, "review", "show", item); err != nil {
		return err
	}
	if _, err := b.sabha(ctx, b.asha, completed, "review", "approve", item, "--digest", digest,
		"--edited", `{"grade": "standard", "insurance": true}`, "--reason", "Four years of accounts are on file; ML-4.1 asks for three. ML-4.7 does not exist."); err != nil {
		return err
	}
	// What is of high risk needs two people. The second approves what the first has made of it.
	if _, digest, err = b.waiting(ctx, "M-1002"); err != nil {
		return err
	}
	if _, err := b.sabha(ctx, b.ben, completed, "review", "approve", item, "--digest", digest, "--reason", "Agreed."); err != nil {
		return err
	}
	ended := <-applied
	if ended.err != nil {
		return ended.err
	}
	lines, err := b.ledger("M-1002")
	if err != nil {
		return err
	}
	if len(lines) != 1 || lines[0].Offer.Grade != "standard" || !lines[0].Offer.Insurance {
		return fmt.Errorf("the ledger has %+v instead of the offer that was approved", lines)
	}
	return b.audit(ctx, ended.task)
}

// withdrawn is taken back by the applicant while a person has not decided.
func (b *bank) withdrawn(ctx context.Context) error {
	if err := b.title("M-1003: the applicant withdraws while it waits"); err != nil {
		return err
	}
	applied := make(chan error, 1)
	go func() {
		_, err := b.apply(ctx, "withdrawn", canceled)
		applied <- err
	}()
	if _, _, err := b.waiting(ctx, "M-1003"); err != nil {
		return err
	}
	held, err := b.held(ctx)
	if err != nil {
		return err
	}
	if held["M-1003"] == nil {
		return errors.New("the underwriter does not hold M-1003, which it has graded")
	}
	task, err := b.newest(ctx)
	if err != nil {
		return err
	}
	if _, err := b.sabha(ctx, b.broker, completed, "task", "cancel", task); err != nil {
		return err
	}
	if err := <-applied; err != nil {
		return err
	}
	if held, err = b.held(ctx); err != nil {
		return err
	}
	if held["M-1003"] != nil {
		return errors.New("the underwriter still holds M-1003 after the withdrawal")
	}
	if lines, err := b.ledger("M-1003"); err != nil || len(lines) != 0 {
		return fmt.Errorf("the ledger has %+v of an application that was withdrawn: %w", lines, err)
	}
	if err := b.say("\nThe underwriter has erased M-1003; the ledger has nothing of it."); err != nil {
		return err
	}
	return b.audit(ctx, task)
}

// withoutConsent goes nowhere before the applicant has agreed.
func (b *bank) withoutConsent(ctx context.Context) error {
	if err := b.title("M-1004: without consent to underwriting"); err != nil {
		return err
	}
	if _, err := b.apply(ctx, "without-consent", inputRequired); err != nil {
		return err
	}
	held, err := b.held(ctx)
	if err != nil {
		return err
	}
	if held["M-1004"] != nil {
		return errors.New("data went to the underwriter without consent")
	}
	return b.say("\nNothing of M-1004 has left the bank.")
}

// apply sends an application and returns its task once it has ended as expected.
func (b *bank) apply(ctx context.Context, name string, expected int) (string, error) {
	file := "@" + filepath.Join(b.folder, "applications", name+".json")
	if _, err := b.sabha(ctx, b.broker, expected, "ask", "--playbook", "mortgage", "--data", file); err != nil {
		return "", err
	}
	return b.newest(ctx)
}

// newest is the broker's newest task.
func (b *bank) newest(ctx context.Context) (string, error) {
	res, err := b.quiet(ctx, b.broker, "task", "list", "--json")
	if err != nil {
		return "", err
	}
	line, _, _ := strings.Cut(res, "\n")
	var task struct{ ID string }
	if err := json.Unmarshal([]byte(line), &task); err != nil || task.ID == "" {
		return "", fmt.Errorf("no task in %q: %w", line, err)
	}
	return task.ID, nil
}

// waiting waits until a review of the application is there, and gives its id and digest.
func (b *bank) waiting(ctx context.Context, reference string) (id, digest string, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	for {
		res, err := b.quiet(ctx, b.asha, "review", "list", "--json")
		if err != nil {
			return "", "", err
		}
		for line := range strings.Lines(res) {
			var item struct{ ID, Title, Digest string }
			if err := json.Unmarshal([]byte(line), &item); err != nil {
				return "", "", err
			}
			if strings.Contains(item.Title, reference) {
				return item.ID, item.Digest, nil
			}
		}
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
			return "", "", fmt.Errorf("no review of %s: %w", reference, ctx.Err())
		}
	}
}

// audit prints every hop of a request, and what crossed to the partner and back.
func (b *bank) audit(ctx context.Context, task string) error {
	res, err := b.sabha(ctx, b.operator, completed, "audit", "show", task)
	if err != nil {
		return err
	}
	for _, agent := range []string{"planner", "memory", "research", "executor", "partners", "validator"} {
		if !strings.Contains(res, "→ "+agent+"/") {
			return fmt.Errorf("the audit does not name %s", agent)
		}
	}
	res, err = b.sabha(ctx, b.operator, completed, "partner", "crossings", "underwriter", "--task", task)
	if err == nil && !strings.Contains(res, "allow    finances in part") {
		err = errors.New("the record of what left does not name the income")
	}
	if err == nil && !strings.Contains(res, "for mortgage-underwriting, with the consent recorded by "+task+"/consent_underwriting") {
		err = errors.New("the record of what left does not name its purpose and the consent to it")
	}
	return err
}
