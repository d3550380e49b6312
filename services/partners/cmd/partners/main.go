// Command partners runs the outbound edge as a process of its own:
//
//	partners serve|migrate|check-config -config FILE
//	partners check-agreement FILE|FOLDER
package main

import (
	"os"

	"sabha.dev/chassis/service"
	"sabha.dev/services/partners"
)

func main() {
	os.Exit(partners.Command(os.Args, os.Stderr, func(args []string) int { return service.Main(args, partners.New) }))
}
