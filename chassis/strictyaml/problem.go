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

// report collects the problems of one file.
type report struct {
	file     string
	problems Problems
}

func (r *report) add(line int, path, message string) {
	if len(r.problems) < maxProblems {
		r.problems = append(r.problems, Problem{File: r.file, Line: line, Path: path, Message: message})
	}
}

// err gives the problems in the order of the file, or nil.
func (r *report) err() error {
	if len(r.problems) == 0 {
		return nil
	}
	slices.SortStableFunc(r.problems, func(a, b Problem) int { return a.Line - b.Line })
	return r.problems
}
