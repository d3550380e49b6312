package agents

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/chassis/ext"
)

// ErrNoAgent says that there is no agent of the name.
var ErrNoAgent = errors.New("there is no such agent")

// File that is sent along.
type File struct {
	Name, Type string
	Body       []byte
}

// Request is what somebody sends to an agent.
type Request struct {
	Tenant, Skill, Playbook, Text string
	// Data and Metadata are JSON; empty for none. Metadata is an object.
	Data, Metadata string
	Files          []File
	// ContextID continues a conversation, TaskID a task that waits for the client; empty for neither.
	ContextID, TaskID string
}

// Message of a request. The error is for who wrote it.
func (r Request) Message(id string) (*a2apb.Message, error) {
	m := &a2apb.Message{MessageId: id, Role: a2apb.Role_ROLE_USER, ContextId: r.ContextID, TaskId: r.TaskID}
	if r.Text != "" {
		m.Parts = append(m.Parts, &a2apb.Part{Content: &a2apb.Part_Text{Text: r.Text}})
	}
	if r.Data != "" {
		v := &structpb.Value{}
		if err := protojson.Unmarshal([]byte(r.Data), v); err != nil {
			return nil, fmt.Errorf("the data is no JSON: %w", told(r.Data, err))
		}
		m.Parts = append(m.Parts, &a2apb.Part{Content: &a2apb.Part_Data{Data: v}, MediaType: "application/json"})
	}
	for _, f := range r.Files {
		m.Parts = append(m.Parts, &a2apb.Part{Content: &a2apb.Part_Raw{Raw: f.Body}, Filename: f.Name, MediaType: f.Type})
	}
	if len(m.Parts) == 0 {
		return nil, errors.New("write a text, data, or attach a file")
	}
	m.Metadata = &structpb.Struct{Fields: map[string]*structpb.Value{}}
	if r.Metadata != "" {
		if err := protojson.Unmarshal([]byte(r.Metadata), m.Metadata); err != nil {
			return nil, fmt.Errorf("the metadata is no JSON object: %w", told(r.Metadata, err))
		}
	}
	for key, value := range map[string]string{ext.Skill: r.Skill, ext.Playbook: r.Playbook} {
		if value != "" {
			m.Metadata.Fields[key] = structpb.NewStringValue(value)
		}
	}
	if len(m.Metadata.GetFields()) == 0 {
		m.Metadata = nil
	}
	return m, nil
}

// told is what is wrong with JSON, in the words of a reader that names the place.
func told(text string, err error) error {
	var v any
	if plain := json.Unmarshal([]byte(text), &v); plain != nil {
		return plain
	}
	return errors.New("it has another form than is needed here")
}

// Send sends a message on behalf of whoever ctx is for, and gives every event of
// the answer to told until the stream ends. The errors are ErrNoAgent, and those of
// the agent.
func (n *Network) Send(ctx context.Context, tenant string, m *a2apb.Message, told func(*a2apb.StreamResponse) error) error {
	conn, ok := n.conns[tenant]
	if !ok {
		return ErrNoAgent
	}
	ctx, cancel := context.WithCancel(metadata.AppendToOutgoingContext(ctx, ext.MetadataVersion, "1.0"))
	defer cancel()
	stream, err := a2apb.NewA2AServiceClient(conn).SendStreamingMessage(ctx, &a2apb.SendMessageRequest{Message: m})
	if err != nil {
		return err
	}
	for {
		res, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := told(res); err != nil {
			return err
		}
	}
}

func sorted(all []string) []string {
	slices.Sort(all)
	return all
}
