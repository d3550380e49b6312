package command

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/chassis/ext"
	"sabha.dev/cmd/sabha/internal/client"
	"sabha.dev/cmd/sabha/internal/render"
	"sabha.dev/playbooks"
)

// question is what the flags of ask say.
type question struct {
	text, playbook, data, task string
	json                       bool
}

func (r *run) ask() *cobra.Command {
	var q question
	c := &cobra.Command{
		Use:   `ask "…"`,
		Short: "Ask a question and watch it being answered",
		Long: `Ask sends a question to the platform, shows the steps that work on it as they run,
and prints the answer with its sources. Progress goes to standard error, the answer
to standard output. Ctrl-C stops watching; the task goes on.`,
		Example: `  sabha ask "How long does a lease last?"
  sabha ask --playbook compute --data '{"code": "20 + 22"}'
  sabha ask --task 0198… "the missing detail"
  sabha ask --json "…" | jq .`,
		RunE: func(cmd *cobra.Command, args []string) error {
			q.text = strings.TrimSpace(strings.Join(args, " "))
			return r.runAsk(cmd.Context(), q)
		},
	}
	c.Flags().StringVar(&q.playbook, "playbook", "", "playbook to run, NAME or NAME@VERSION; without it one is chosen by the request")
	c.Flags().StringVar(&q.data, "data", "", "a JSON object to send beside the question, or @FILE that holds one")
	c.Flags().StringVar(&q.task, "task", "", "id of a task that waits for input, which this message continues")
	c.Flags().BoolVar(&q.json, "json", false, "print each event as a line of JSON, and the task at the end")
	_ = c.RegisterFlagCompletionFunc("playbook", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return shipped(), cobra.ShellCompDirectiveNoFileComp
	})
	return r.calls(c)
}

// shipped are the names of the playbooks that come with the program.
func shipped() []string {
	files, err := playbooks.Files.ReadDir(".")
	if err != nil {
		return nil
	}
	var out []string
	for _, f := range files {
		out = append(out, strings.TrimSuffix(f.Name(), ".yaml"))
	}
	return out
}

func (r *run) runAsk(ctx context.Context, q question) error {
	m, err := q.message()
	if err != nil {
		return err
	}
	c, err := r.dial(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	seq := c.Ask(ctx, m)
	if q.json {
		p, err := r.followJSON(ctx, c, seq)
		return r.concludeJSON(p, err)
	}
	p, err := r.follow(ctx, c, seq, r.Clock.Now(), r.Err)
	return r.conclude(p, err)
}

// message makes the A2A message of a question.
func (q question) message() (*a2apb.Message, error) {
	m := &a2apb.Message{MessageId: rand.Text(), TaskId: q.task, Role: a2apb.Role_ROLE_USER}
	if q.text != "" {
		m.Parts = append(m.Parts, &a2apb.Part{Content: &a2apb.Part_Text{Text: q.text}, MediaType: "text/plain"})
	}
	if q.data != "" {
		data, err := readData(q.data)
		if err != nil {
			return nil, err
		}
		m.Parts = append(m.Parts, &a2apb.Part{Content: &a2apb.Part_Data{Data: data}, MediaType: "application/json"})
	}
	if len(m.Parts) == 0 {
		return nil, usagef(`nothing to ask; write: sabha ask "…"`)
	}
	if q.playbook != "" {
		m.Metadata = &structpb.Struct{Fields: map[string]*structpb.Value{ext.Playbook: structpb.NewStringValue(q.playbook)}}
		m.Extensions = []string{ext.Playbook}
	}
	return m, nil
}

// readData reads the value of --data.
func readData(s string) (*structpb.Value, error) {
	raw := []byte(s)
	if file, ok := strings.CutPrefix(s, "@"); ok {
		var err error
		if raw, err = os.ReadFile(file); err != nil {
			return nil, usagef("--data: %v", err)
		}
	}
	var object map[string]any
	if err := json.Unmarshal(raw, &object); err != nil || object == nil {
		return nil, usagef("--data is not a JSON object; write for example --data '{\"name\": \"value\"}', or @FILE")
	}
	v, err := structpb.NewValue(object)
	if err != nil {
		return nil, usagef("--data: %v", err)
	}
	return v, nil
}

// conclude prints what has come of a request and gives its outcome.
func (r *run) conclude(p *render.Progress, err error) error {
	if errors.Is(err, errDetached) {
		return r.detached(p)
	}
	if err != nil {
		return r.broken(p, err)
	}
	s := r.style()
	if p.Message != nil {
		return r.say(s.Parts(p.Message.GetParts())...)
	}
	if p.Task == nil {
		return fmt.Errorf("the server ended the stream without an answer")
	}
	if lines := s.Note(p); len(lines) > 0 {
		if _, _, live := r.Screen(); live {
			fmt.Fprintln(r.Err)
		}
		for _, l := range lines {
			fmt.Fprintln(r.Err, l)
		}
	}
	if p.State() == a2apb.TaskState_TASK_STATE_INPUT_REQUIRED {
		fmt.Fprintln(r.Err)
		for _, l := range render.Continue(p.Task) {
			fmt.Fprintln(r.Err, l)
		}
	}
	if lines := s.Artifacts(p.Task.GetArtifacts()); len(lines) > 0 {
		if _, _, live := r.Screen(); live {
			lines = append([]string{""}, lines...)
		}
		if err := r.say(lines...); err != nil {
			return err
		}
	}
	return end(outcome(p.State()))
}

// concludeJSON gives the outcome of a request whose events have been printed.
func (r *run) concludeJSON(p *render.Progress, err error) error {
	switch {
	case errors.Is(err, errDetached):
		return r.detached(p)
	case err != nil:
		return r.broken(p, err)
	case p.Message != nil:
		return nil
	}
	return end(outcome(p.State()))
}

// detached tells how to go on with a task that is no longer watched.
func (r *run) detached(p *render.Progress) error {
	if p.Task == nil {
		return &failure{code: ExitDetached, text: "interrupted before the server had answered; the request may have arrived all the same"}
	}
	id := p.Task.GetId()
	fmt.Fprintf(r.Err, "\nNo longer watching; the task goes on.\n  sabha task watch %s\n  sabha task cancel %s\n", id, id)
	return ended{ExitDetached}
}

// broken adds to an error where the task can be found again.
func (r *run) broken(p *render.Progress, err error) error {
	f := explain(err, r.apiKey() != "")
	if p.Task == nil {
		return f
	}
	var unreachable *client.Unreachable
	if errors.As(err, &unreachable) {
		f.text = "the server is gone: " + cause(unreachable.Err)
	}
	f.next = "The task is stored and goes on when the server does. Look at it with: sabha task watch " + p.Task.GetId()
	return f
}
