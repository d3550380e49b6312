package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// event is one line of `go test -json`; `go doc test2json` says what each means.
type event struct {
	Action  string
	Package string
	Test    string
	Elapsed float64 // seconds
	Output  string
}

// report gathers the events of one run.
type report struct {
	out      io.Writer
	output   map[string]map[string]*strings.Builder // by package, by unfinished test; "" is the package itself
	leftOut  map[string][]string                    // tests by reason
	failing  map[string][]string                    // failed tests by package, without subtests
	cut      map[string]bool                        // packages that ended in the middle: not all of their tests ran
	passed   int                                    // tests, subtests included
	failed   int                                    // tests, and packages that failed without a failed test
	packages int
}

func newReport(out io.Writer) *report {
	return &report{
		out:     out,
		output:  map[string]map[string]*strings.Builder{},
		leftOut: map[string][]string{},
		failing: map[string][]string{},
		cut:     map[string]bool{},
	}
}

// read takes events until the input ends. A line that is no event is printed as it is.
func (r *report) read(in io.Reader) error {
	lines := bufio.NewReader(in) // not a Scanner: a line of output may have any length
	for {
		line, err := lines.ReadString('\n')
		if text := strings.TrimRight(line, "\n"); text != "" {
			var e event
			if json.Unmarshal([]byte(text), &e) != nil {
				r.printf("%s\n", text)
			} else {
				r.take(e)
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (r *report) take(e event) {
	switch e.Action {
	case "build-output":
		r.printf("%s", e.Output)
	case "output":
		r.keep(e)
	case "pass", "fail", "skip":
		if e.Test == "" {
			r.endPackage(e)
		} else {
			r.endTest(e)
		}
	}
}

func (r *report) keep(e event) {
	tests := r.output[e.Package]
	if tests == nil {
		tests = map[string]*strings.Builder{}
		r.output[e.Package] = tests
	}
	if tests[e.Test] == nil {
		tests[e.Test] = &strings.Builder{}
	}
	if !progress(e.Output) {
		tests[e.Test].WriteString(e.Output)
	}
}

// progress says whether a line only tells that a test began or went on.
func progress(line string) bool {
	for _, mark := range []string{"=== RUN", "=== PAUSE", "=== CONT", "=== NAME"} {
		if strings.HasPrefix(line, mark) {
			return true
		}
	}
	return false
}

func (r *report) endTest(e event) {
	text := r.drop(e.Package, e.Test)
	switch e.Action {
	case "pass":
		r.passed++
	case "fail":
		r.failed++
		if !strings.Contains(e.Test, "/") {
			r.failing[e.Package] = append(r.failing[e.Package], e.Test)
		}
		r.printf("%s", text)
	case "skip":
		reason := skipReason(text)
		r.leftOut[reason] = append(r.leftOut[reason], e.Package+"."+e.Test)
	}
}

// drop forgets the output of a test and returns it.
func (r *report) drop(pkg, test string) string {
	kept := r.output[pkg][test]
	delete(r.output[pkg], test)
	if kept == nil {
		return ""
	}
	return kept.String()
}

// skipReason is what the test said, without the place in the source and the
// line that says that it was skipped.
func skipReason(text string) string {
	var said []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "--- SKIP") {
			continue
		}
		if place, rest, ok := strings.Cut(line, ": "); ok && strings.Contains(place, ".go:") {
			line = rest
		}
		said = append(said, strings.TrimPrefix(line, "left out: "))
	}
	if len(said) == 0 {
		return "no reason given"
	}
	return strings.Join(said, " ")
}

func (r *report) endPackage(e event) {
	defer delete(r.output, e.Package)
	switch e.Action {
	case "skip":
		return // a package without tests
	case "pass":
		r.printf("ok    %-55s %7.2fs\n", e.Package, e.Elapsed)
	case "fail":
		r.failUnfinished(e.Package)
		r.printf("FAIL  %-55s %7.2fs\n", e.Package, e.Elapsed)
	}
	r.packages++
}

// failUnfinished prints what tests said that never came to an end, as in a panic
// or after the time limit, and what the package itself said.
func (r *report) failUnfinished(pkg string) {
	var tests []string
	for test := range r.output[pkg] {
		tests = append(tests, test)
	}
	slices.Sort(tests)
	for _, test := range tests {
		text := r.drop(pkg, test)
		if test != "" {
			r.printf("--- UNFINISHED: %s\n", test)
		}
		if test != "" || strings.Contains(text, "\npanic: ") || strings.HasPrefix(text, "panic: ") {
			r.cut[pkg] = true
		}
		r.printf("%s", text)
	}
	if len(r.failing[pkg]) == 0 {
		r.failed++
		r.failing[pkg] = nil
	}
}

// failures writes a line for each package that failed: its path, and after a tab the
// pattern of the tests to run again: those that failed, or all when not all have run.
// What did not even begin has no pattern.
func (r *report) failures(to io.Writer) error {
	for _, pkg := range slices.Sorted(maps.Keys(r.failing)) {
		pattern := ""
		switch {
		case r.cut[pkg]:
			pattern = "."
		case len(r.failing[pkg]) > 0:
			pattern = "^(" + strings.Join(r.failing[pkg], "|") + ")$"
		}
		if _, err := fmt.Fprintf(to, "%s\t%s\n", pkg, pattern); err != nil {
			return err
		}
	}
	return nil
}

// summarise prints the totals and what was left out. It says whether all is well.
func (r *report) summarise() bool {
	reasons := make([]string, 0, len(r.leftOut))
	skipped := 0
	for reason, tests := range r.leftOut {
		reasons = append(reasons, reason)
		skipped += len(tests)
	}
	slices.Sort(reasons)
	for _, reason := range reasons {
		r.printf("\nLEFT OUT: %s\n", reason)
		for _, test := range r.leftOut[reason] {
			r.printf("    %s\n", test)
		}
	}
	if r.packages == 0 {
		r.printf("no package was tested\n")
		return false
	}
	r.printf("\n%d packages: %d tests passed, %d left out, %d failures\n", r.packages, r.passed, skipped, r.failed)
	return r.failed == 0
}

func (r *report) printf(format string, args ...any) {
	_, _ = fmt.Fprintf(r.out, format, args...) // nowhere to report a closed terminal
}
