// Command mortgage runs the mortgage scenario: four applications, a bank's platform in this
// process, an underwriter of another organisation in a process of its own. Whatever a person
// would type it types, shows, and checks what comes of it.
//
//	mortgage [-programs DIR] [-node PROGRAM]
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	var s settings
	flag.StringVar(&s.programs, "programs", "bin", "folder with the programs sabha, gateway and ledger")
	flag.StringVar(&s.folder, "folder", "examples/mortgage", "folder of the scenario")
	flag.StringVar(&s.node, "node", "node", "program that runs the underwriter")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, s, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mortgage:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, s settings, out io.Writer) (err error) {
	b, err := open(ctx, s, out)
	if err != nil {
		return err
	}
	defer func() { err = b.close(err) }()
	for _, act := range []func(context.Context) error{b.partner, b.salaried, b.selfEmployed, b.withdrawn, b.withdrawnLate, b.withoutConsent} {
		if err := act(ctx); err != nil {
			return err
		}
	}
	return b.say("\nAll four applications ended as they should.")
}
