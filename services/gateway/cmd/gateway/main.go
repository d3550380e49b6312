// Command gateway serves the platform's inbound edge and manages its API keys.
package main

import (
	"os"

	"sabha.dev/services/gateway"
)

func main() { os.Exit(gateway.Main(os.Args)) }
