package command

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/timestamppb"

	"sabha.dev/cmd/sabha/internal/client"
	"sabha.dev/cmd/sabha/internal/render"
	adminv1 "sabha.dev/gen/sabha/admin/v1"
)

// overseen is what a list of every caller's tasks asks for.
type overseen struct {
	q     adminv1.ListTasksRequest
	since time.Duration
}

// flags of a list of every caller's tasks, beside those of one's own.
func (o *overseen) flags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&o.q.Service, "service", "", "with --all: tasks of this service, not requests of clients")
	f.StringVar(&o.q.Playbook, "playbook", "", "with --all: only those of this playbook")
	f.StringVar(&o.q.Agent, "agent", "", "with --all: only those with a step that calls this agent")
	f.StringVar(&o.q.Principal, "caller", "", "with --all: only those of organisation/subject")
	f.StringVar(&o.q.ContextId, "context", "", "with --all: only those of this A2A context")
	f.StringVar(&o.q.Query, "query", "", "with --all: only those whose request has these words")
	f.DurationVar(&o.since, "since", 0, "with --all: only those that began within this time, such as 24h")
	f.BoolVar(&o.q.Retrying, "retrying", false, "with --all: only those with a step that waits for its next try")
	f.StringVar(&o.q.FailedStep, "failed-step", "", "with --all: only those in which this step has failed; * for any")
}

// alone names a flag that was given and means nothing for one's own tasks.
func (o *overseen) alone(c *cobra.Command) string {
	for _, name := range []string{"service", "playbook", "agent", "caller", "context", "query", "since", "retrying", "failed-step"} {
		if c.Flags().Changed(name) {
			return name
		}
	}
	return ""
}

// listAll shows tasks of every caller.
func (r *run) listAll(ctx context.Context, o *overseen, state a2apb.TaskState, limit int, json bool) error {
	if state != a2apb.TaskState_TASK_STATE_UNSPECIFIED {
		o.q.States = []string{state.String()}
	}
	if o.since > 0 {
		o.q.CreatedAfter = timestamppb.New(r.Clock.Now().Add(-o.since))
	}
	return r.withPlatform(ctx, func(ctx context.Context, c *client.Client) error {
		res, err := c.Overseen(ctx, &o.q, limit)
		if err != nil {
			return err
		}
		if json {
			for _, t := range res.GetTasks() {
				if err := r.sayJSON(t); err != nil {
					return err
				}
			}
			return nil
		}
		if len(res.GetTasks()) == 0 {
			return r.say("No tasks.")
		}
		if err := r.say(r.style().Overseen(res.GetTasks())...); err != nil {
			return err
		}
		if res.GetNextPageToken() != "" {
			fmt.Fprintln(r.Err, render.Counted(res)+"; --limit shows more")
		}
		return nil
	})
}

// cancelFor cancels tasks of any caller.
func (r *run) cancelFor(ctx context.Context, service, reason string, ids []string) error {
	return r.withPlatform(ctx, func(ctx context.Context, c *client.Client) error {
		outcomes, err := c.CancelFor(ctx, &adminv1.CancelTasksRequest{Service: service, TaskIds: ids, Reason: reason})
		if err != nil {
			return err
		}
		var refused []string
		for _, o := range outcomes {
			said := "Task " + o.GetTaskId() + " is canceled."
			switch {
			case o.GetError() != "":
				refused = append(refused, render.Line(o.GetError()))
				continue
			case o.GetState() != a2apb.TaskState_TASK_STATE_CANCELED.String():
				said = "Task " + o.GetTaskId() + " is being canceled; what it did is being undone."
			}
			if err := r.say(said); err != nil {
				return err
			}
		}
		if len(refused) > 0 {
			return &failure{ExitFailure, fmt.Sprintf("%d of %d were not canceled: %s", len(refused), len(outcomes), strings.Join(refused, "; ")), ""}
		}
		return nil
	})
}
