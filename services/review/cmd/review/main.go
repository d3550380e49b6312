// Command review runs the review agent as a process of its own:
//
//	review serve|migrate|check-config -config FILE
//	review check-policy FILE
package main

import (
	"os"

	"sabha.dev/chassis/service"
	"sabha.dev/services/review"
)

func main() {
	os.Exit(review.Command(os.Args, os.Stderr, func(args []string) int { return service.Main(args, review.New) }))
}
