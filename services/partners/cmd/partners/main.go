// Command partners runs the outbound edge as a process of its own:
//
//	partners serve|migrate|check-config -config FILE
package main

import (
	"os"

	"sabha.dev/chassis/service"
	"sabha.dev/services/partners"
)

func main() { os.Exit(service.Main(os.Args, partners.New)) }
