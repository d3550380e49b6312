// Package kap serves the Kernova Agent Protocol, KAP 1.0: the card at
// /.well-known/agent.json and requests at /v1/ask. A request is made a message of
// A2A to the agent that its capability stands for, and so a task like any other;
// what comes of it is told in KAP's form.
package kap

import "time"

// Version of the protocol, as requests, answers and cards state it.
const Version = "kap/1.0"

// Paths that the package serves.
const (
	CardPath = "/.well-known/agent.json"
	AskPath  = "/v1/ask"
)

// Statuses of an answer.
const (
	success = "success"
	pending = "pending"
	failed  = "error"
)

// Bounds of a request. Those of time are of how long a POST waits, not of the work.
const (
	// defaultWait is for requests without a timeout, as KAP's own client has it.
	defaultWait = 30 * time.Second
	// longestWait is for requests that would wait longer; they are answered "pending".
	longestWait = 5 * time.Minute
	// acceptWithin is how much longer a POST waits until its task is stored.
	acceptWithin = 10 * time.Second

	maxID     = 128
	maxName   = 256
	maxThread = 256
	// maxDepth of nested JSON, as the conversion to Protobuf takes it.
	maxDepth = 64
)
