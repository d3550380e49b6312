package load

import (
	"embed"
	"io/fs"
	"path"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/ext"
)

//go:embed playbooks/*.yaml
var files embed.FS

// Playbooks are those of the load, by file name.
func Playbooks() (map[string]string, error) {
	names, err := fs.Glob(files, "playbooks/*.yaml")
	if err != nil {
		return nil, err
	}
	books := map[string]string{}
	for _, name := range names {
		raw, err := files.ReadFile(name)
		if err != nil {
			return nil, err
		}
		books[path.Base(name)] = string(raw)
	}
	return books, nil
}

// kind of a plan.
type kind struct {
	// book is the playbook that is asked for; empty leaves the choice to the platform.
	book string
	// input of the plan.
	input func(seed int) ([]*a2apb.Part, error)
	// end is the state that the plan comes to.
	end a2apb.TaskState
	// cancelAt is the step whose run has the client cancel.
	cancelAt string
	// may fail because a budget of the shipped playbook was spent in an outage.
	late bool
}

func seeded(seed int) ([]*a2apb.Part, error) {
	p, err := agent.Data(map[string]any{"seed": seed})
	return []*a2apb.Part{p}, err
}

func question(int) ([]*a2apb.Part, error) {
	return []*a2apb.Part{agent.Text("How long does it take until another replica goes on?")}, nil
}

func snippet(seed int) ([]*a2apb.Part, error) {
	p, err := agent.Data(map[string]any{"code": "inputs['n'] * 2", "inputs": map[string]any{"n": seed}})
	return []*a2apb.Part{p}, err
}

const (
	completed = a2apb.TaskState_TASK_STATE_COMPLETED
	canceled  = a2apb.TaskState_TASK_STATE_CANCELED
)

// mix is what ten plans in a row are.
var mix = []kind{
	{book: "chain", input: seeded, end: completed},
	{book: "diamond", input: seeded, end: completed},
	{book: "patient", input: seeded, end: completed},
	{book: "asking", input: seeded, end: completed},
	{input: question, end: completed, late: true},
	{book: "reversible", input: seeded, end: canceled, cancelAt: "c"},
	{book: "diamond", input: seeded, end: completed},
	{book: "compute", input: snippet, end: completed, late: true},
	{book: "chain", input: seeded, end: completed},
	{book: "patient", input: seeded, end: completed},
}

// ticking makes a step every quarter of a second, so that every pause shows.
var ticking = kind{book: "ticking", input: seeded, end: completed}

func (k kind) request(id string, seed int) (*a2apb.SendMessageRequest, error) {
	parts, err := k.input(seed)
	if err != nil {
		return nil, err
	}
	m := &a2apb.Message{MessageId: id, Role: a2apb.Role_ROLE_USER, Parts: parts}
	if k.book != "" {
		m.Metadata = &structpb.Struct{Fields: map[string]*structpb.Value{ext.Playbook: structpb.NewStringValue(k.book)}}
	}
	return &a2apb.SendMessageRequest{Message: m, Configuration: &a2apb.SendMessageConfiguration{ReturnImmediately: true}}, nil
}
