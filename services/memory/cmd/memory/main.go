// Command memory serves the memory persona as a process of its own.
package main

import (
	"os"

	"sabha.dev/chassis/service"
	"sabha.dev/services/memory"
)

func main() { os.Exit(service.Main(os.Args, memory.New)) }
