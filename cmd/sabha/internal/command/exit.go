package command

import (
	"fmt"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
)

// Code is how the program ends.
type Code int

// The exit codes.
const (
	ExitOK            Code = 0
	ExitFailure       Code = 1
	ExitUsage         Code = 2
	ExitTaskFailed    Code = 3
	ExitRejected      Code = 4
	ExitCanceled      Code = 5
	ExitInputRequired Code = 6
	ExitNotFound      Code = 7
	ExitDenied        Code = 8
	ExitUnavailable   Code = 9
	ExitDetached      Code = 130
)

// exitCodes is the one table of exit codes; help and the documentation show it.
var exitCodes = []struct {
	code  Code
	means string
}{
	{ExitOK, "done; the task completed"},
	{ExitFailure, "the command itself failed: a file, a network error in the middle, an internal error, a card or a playbook with errors in it"},
	{ExitUsage, "the command was not understood, or the server refused the request as invalid"},
	{ExitTaskFailed, "the task failed"},
	{ExitRejected, "the task, or what would leave, was rejected by policy"},
	{ExitCanceled, "the task was canceled"},
	{ExitInputRequired, "the task waits for more input from you"},
	{ExitNotFound, "the task, agent or key does not exist, or is not yours"},
	{ExitDenied, "no key, an unknown key, or one that does not allow this"},
	{ExitUnavailable, "the server cannot be reached, or is over a limit; try again later"},
	{ExitDetached, "interrupted while following a task; the task goes on"},
}

func exitHelp() string {
	var b strings.Builder
	b.WriteString("The exit code tells outcomes apart, for scripts:\n\n")
	for _, c := range exitCodes {
		fmt.Fprintf(&b, "  %3d  %s\n", c.code, c.means)
	}
	return b.String()
}

// outcome is the exit code of a task's state.
func outcome(s a2apb.TaskState) Code {
	switch s {
	case a2apb.TaskState_TASK_STATE_COMPLETED:
		return ExitOK
	case a2apb.TaskState_TASK_STATE_FAILED:
		return ExitTaskFailed
	case a2apb.TaskState_TASK_STATE_REJECTED:
		return ExitRejected
	case a2apb.TaskState_TASK_STATE_CANCELED:
		return ExitCanceled
	case a2apb.TaskState_TASK_STATE_INPUT_REQUIRED:
		return ExitInputRequired
	}
	return ExitFailure
}

// ended is the error of a command whose outcome has been told already.
type ended struct{ code Code }

func (e ended) Error() string { return fmt.Sprintf("exit code %d", e.code) }

// end makes the error of an outcome; none for the good one.
func end(c Code) error {
	if c == ExitOK {
		return nil
	}
	return ended{c}
}
