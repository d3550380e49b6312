// Package assembly tests the whole platform in one process through its public
// interfaces: bindings, admission, synthesis, audit, the bus and MCP.
package assembly
