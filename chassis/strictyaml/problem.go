package strictyaml

import (
	"fmt"
	"slices"
	"strings"
)

// Problem is one thing wrong with a file.
type Problem struct {
	File string
	// Line counts from 1; 0 when the file as a whole is meant.
	Line int
	// Path is the place in the document, such as rules[2].queue; empty for the whole.
	Path    string
	Message string
}

// String gives the problem as compilers do: file:line: path: message.
func (p Problem) String() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d", p.Line)
	}
	b.WriteString(": ")
	if p.Path != "" {
		b.WriteString(p.Path + ": ")
	}
	b.WriteString(p.Message)
	return b.String()
}

// Problems is the error of a file: everything found, in the order of the file.
type Problems []Problem

// Error gives one problem a line.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// maxProblems bounds the report on a file that is wrong everywhere.
const maxProblems = 100

// Report collects the problems of one file. Most of what reads files has one from
// [Parse], and reports with Node.Problem.
type Report struct {
	file     string
	problems Problems
}

// NewReport begins a report on a file, whose name is shown as it is given.
func NewReport(file string) *Report { return &Report{file: file} }

// File is the name that problems show.
func (r *Report) File() string { return r.file }

// Add reports a problem. A report on a file that is wrong everywhere ends after 100.
func (r *Report) Add(line int, path, format string, args ...any) {
	if len(r.problems) < maxProblems {
		r.problems = append(r.problems, Problem{File: r.file, Line: line, Path: path, Message: fmt.Sprintf(format, args...)})
	}
}

// Len is how many problems have been reported.
func (r *Report) Len() int { return len(r.problems) }

// At tells whether a problem with this path has been reported.
func (r *Report) At(path string) bool {
	return slices.ContainsFunc(r.problems, func(p Problem) bool { return p.Path == path })
}

// Err gives the problems in the order of the file, or nil.
func (r *Report) Err() error {
	if len(r.problems) == 0 {
		return nil
	}
	slices.SortStableFunc(r.problems, func(a, b Problem) int { return a.Line - b.Line })
	return r.problems
}
