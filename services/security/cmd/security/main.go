// Command security runs the security service as a process of its own:
//
//	security serve|migrate|check-config -config FILE
package main

import (
	"os"

	"sabha.dev/services/security"
)

func main() {
	os.Exit(security.Run(os.Args))
}
