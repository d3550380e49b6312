// Command validator runs the validator as a process of its own:
//
//	validator serve|migrate|check-config -config FILE
package main

import (
	"os"

	"sabha.dev/services/validator"
)

func main() {
	os.Exit(validator.Run(os.Args))
}
