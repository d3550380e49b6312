// Command testreport reads the events of `go test -json` on standard input and
// prints what a person wants to know: a line for each package, the output of
// what failed, and at the end which tests were left out and why.
//
// It exits with 1 when something failed or the input held no result.
package main

import (
	"fmt"
	"os"
)

func main() {
	r := newReport(os.Stdout)
	if err := r.read(os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, "testreport:", err)
		os.Exit(1)
	}
	if !r.summarise() {
		os.Exit(1)
	}
}
