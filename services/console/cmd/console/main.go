// Command console serves the web console as a process of its own.
package main

import (
	"os"

	"sabha.dev/services/console"
)

func main() { os.Exit(console.Main(os.Args)) }
