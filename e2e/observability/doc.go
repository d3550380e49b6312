// Package observability tests what an operator sees of the platform: the trace of a
// request, the metrics, the alerts.
package observability
