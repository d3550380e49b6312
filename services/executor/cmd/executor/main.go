// Command executor serves the executor persona as a process of its own.
package main

import (
	"os"

	"sabha.dev/chassis/service"
	"sabha.dev/services/executor"
)

func main() { os.Exit(service.Main(os.Args, executor.New)) }
