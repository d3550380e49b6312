// Command planner serves the planner as a process of its own.
package main

import (
	"os"

	"sabha.dev/chassis/service"
	"sabha.dev/services/planner"
)

func main() { os.Exit(service.Main(os.Args, planner.New)) }
