// Command testreport reads the events of `go test -json` on standard input and
// prints what a person wants to know: a line for each package, the output of
// what failed, and at the end which tests were left out and why.
//
// It exits with 1 when something failed or the input held no result. With the name
// of a file it writes there which tests failed, by package.
package main

import (
	"fmt"
	"os"
)

func main() {
	r := newReport(os.Stdout)
	if err := r.read(os.Stdin); err != nil {
		fail(err)
	}
	if r.summarise() {
		return
	}
	if len(os.Args) > 1 {
		f, err := os.Create(os.Args[1])
		if err != nil {
			fail(err)
		}
		if err := r.failures(f); err != nil {
			fail(err)
		}
		if err := f.Close(); err != nil {
			fail(err)
		}
	}
	os.Exit(1)
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "testreport:", err)
	os.Exit(1)
}
