// Package playbooks holds the playbooks Sabha ships with, as files. The format is described by
// package sabha.dev/services/planner/playbook.
package playbooks

import "embed"

// Files holds the shipped playbooks, NAME.yaml each, at the root.
//
//go:embed *.yaml
var Files embed.FS

// General is the name of the built-in general plan, which takes the requests no other playbook matches.
const General = "general"
