// Command sabha is the whole platform in one process, and its command line.
package main

import (
	"os"

	"sabha.dev/cmd/sabha/internal/command"
)

func main() {
	os.Exit(command.Main(os.Args[1:]))
}
