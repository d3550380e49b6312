package command

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/spf13/cobra"

	"sabha.dev/cmd/sabha/internal/render"
)

func (r *run) task() *cobra.Command {
	c := &cobra.Command{Use: "task", Short: "List, read, watch and cancel tasks; try a step again", Args: cobra.NoArgs}
	c.AddCommand(r.taskList(), r.taskGet(), r.taskWatch(), r.taskCancel(), r.taskRetry(), r.taskFork())
	return group(c)
}

// group makes a command that only holds others ask for one of them.
func group(c *cobra.Command) *cobra.Command {
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		var names []string
		for _, sub := range cmd.Commands() {
			names = append(names, sub.Name())
		}
		return usagef("%s what? One of: %s", cmd.Name(), strings.Join(names, ", "))
	}
	return c
}

// states by the word that --state takes.
func states() map[string]a2apb.TaskState {
	out := map[string]a2apb.TaskState{}
	for name, n := range a2apb.TaskState_value {
		if n != 0 {
			out[strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(name, "TASK_STATE_"), "_", "-"))] = a2apb.TaskState(n)
		}
	}
	return out
}

func stateNames() []string {
	var out []string
	for name := range states() {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

func (r *run) taskList() *cobra.Command {
	var (
		state string
		limit int
		json  bool
		all   bool
		o     overseen
	)
	c := &cobra.Command{
		Use: "list", Short: "List your tasks, the newest first", Args: exactly(0),
		Long: `List shows your tasks, the newest first. With --all it shows the requests of every caller,
for which it needs a key of a viewer, operator, auditor or admin, and more can be selected by.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			wanted, ok := states()[state]
			if state != "" && !ok {
				return usagef("--state %q is no state; one of: %s", state, strings.Join(stateNames(), ", "))
			}
			if limit < 1 {
				return usagef("--limit must be at least 1")
			}
			if all {
				return r.listAll(cmd.Context(), &o, wanted, limit, json)
			}
			if name := o.alone(cmd); name != "" {
				return usagef("--%s selects among the tasks of every caller; give --all too", name)
			}
			c, err := r.dial(cmd.Context())
			if err != nil {
				return err
			}
			defer func() { _ = c.Close() }()
			list, total, err := c.List(cmd.Context(), wanted, limit)
			if err != nil {
				return err
			}
			return r.showTasks(list, total, json)
		},
	}
	c.Flags().StringVar(&state, "state", "", "only tasks in this state: "+strings.Join(stateNames(), ", "))
	c.Flags().IntVar(&limit, "limit", 20, "how many at most")
	c.Flags().BoolVar(&json, "json", false, "print each task as a line of JSON")
	c.Flags().BoolVar(&all, "all", false, "tasks of every caller")
	o.flags(c)
	_ = c.RegisterFlagCompletionFunc("state", cobra.FixedCompletions(stateNames(), cobra.ShellCompDirectiveNoFileComp))
	return r.calls(c)
}

func (r *run) showTasks(list []*a2apb.Task, total int, json bool) error {
	if json {
		for _, t := range list {
			if err := r.sayJSON(t); err != nil {
				return err
			}
		}
		return nil
	}
	if len(list) == 0 {
		return r.say("No tasks.")
	}
	if err := r.say(r.style().Tasks(list)...); err != nil {
		return err
	}
	if total > len(list) {
		fmt.Fprintf(r.Err, "%d of %d; --limit shows more\n", len(list), total)
	}
	return nil
}

func (r *run) taskGet() *cobra.Command {
	var json bool
	c := &cobra.Command{
		Use: "get TASK", Short: "Show a task: its state, steps and answer", Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := r.dial(cmd.Context())
			if err != nil {
				return err
			}
			defer func() { _ = c.Close() }()
			t, err := c.Get(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if json {
				return r.sayJSON(t)
			}
			lines := r.style().Task(t, r.Clock.Now())
			if t.GetStatus().GetState() == a2apb.TaskState_TASK_STATE_INPUT_REQUIRED {
				lines = append(append(lines, ""), render.Continue(t)...)
			}
			return r.say(lines...)
		},
	}
	c.Flags().BoolVar(&json, "json", false, "print the task as JSON")
	return r.calls(c)
}

func (r *run) taskWatch() *cobra.Command {
	var json bool
	c := &cobra.Command{
		Use: "watch TASK", Short: "Follow a task until it ends", Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := r.dial(cmd.Context())
			if err != nil {
				return err
			}
			defer func() { _ = c.Close() }()
			seq := c.Watch(cmd.Context(), args[0])
			if json {
				p, err := r.followJSON(cmd.Context(), c, seq)
				return r.concludeJSON(p, err)
			}
			p, err := r.follow(cmd.Context(), c, seq, time.Time{}, r.Err)
			return r.conclude(p, err)
		},
	}
	c.Flags().BoolVar(&json, "json", false, "print each event as a line of JSON, and the task at the end")
	return r.calls(c)
}

func (r *run) taskCancel() *cobra.Command {
	var reason, service string
	c := &cobra.Command{
		Use: "cancel TASK… [--reason WHY]", Short: "Stop a task and undo what it did",
		Long: `Cancel stops a task of yours. With --reason it stops tasks of any caller, who reads the
reason; it is recorded with whose key it was, which must be that of an operator or admin.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 || (len(args) > 1 && reason == "") {
				return usagef("name the task, or several with --reason; write: %s", cmd.UseLine())
			}
			if service != "" && reason == "" {
				return usagef("--service is for tasks of any caller; give --reason too")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if reason != "" {
				return r.cancelFor(cmd.Context(), service, reason, args)
			}
			c, err := r.dial(cmd.Context())
			if err != nil {
				return err
			}
			defer func() { _ = c.Close() }()
			t, err := c.Cancel(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if t.GetStatus().GetState() == a2apb.TaskState_TASK_STATE_CANCELED {
				lines := append([]string{"Task " + t.GetId() + " is canceled."}, r.style().Note(render.OfTask(t))...)
				return r.say(lines...)
			}
			return r.say("Task "+t.GetId()+" is being canceled; what it did is being undone.", "Follow it with: sabha task watch "+t.GetId())
		},
	}
	c.Flags().StringVar(&reason, "reason", "", "why, in a sentence; for tasks of any caller")
	c.Flags().StringVar(&service, "service", "", "with --reason: the service that has the tasks; the planner if not given")
	return r.calls(c)
}
