// Package plans tests what holds of plans when processes die: every accepted plan
// finishes, no finished step runs twice, no event is lost unseen.
package plans
