// Command research serves the research persona as a process of its own.
package main

import (
	"os"

	"sabha.dev/chassis/service"
	"sabha.dev/services/research"
)

func main() { os.Exit(service.Main(os.Args, research.New)) }
