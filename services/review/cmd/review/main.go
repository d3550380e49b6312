// Command review runs the review agent as a process of its own:
//
//	review serve|migrate|check-config -config FILE
package main

import (
	"os"

	"sabha.dev/chassis/service"
	"sabha.dev/services/review"
)

func main() { os.Exit(service.Main(os.Args, review.New)) }
