package kap

import (
	"encoding/json"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/encoding/protojson"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/fault"
)

// answer is a response of KAP, with the HTTP status that it is sent with.
type answer struct {
	RequestID string `json:"requestId"`
	Protocol  string `json:"protocol"`
	Status    string `json:"status"`
	Output    string `json:"output"`
	Data      any    `json:"data,omitempty"`
	Metadata  facts  `json:"metadata"`
	Timestamp string `json:"timestamp"`

	code       int
	retryAfter time.Duration
}

// facts about an answer. TaskID is the task of A2A behind the request.
type facts struct {
	DurationMs       int64    `json:"durationMs"`
	Model            string   `json:"model,omitempty"`
	CapabilitiesUsed []string `json:"capabilities_used"`
	TaskID           string   `json:"taskId,omitempty"`
}

// problem is the data of an answer that says what is wrong with a request.
type problem struct {
	Reason string  `json:"reason"`
	Fields []field `json:"fields,omitempty"`
}

type field struct {
	Path    string `json:"path"`
	Problem string `json:"problem"`
}

// state is the data of an answer about a task that has no result. Question is what it
// needs to know, and Answer what context of a request says that answers it.
type state struct {
	State    string         `json:"state"`
	Question string         `json:"question,omitempty"`
	Details  any            `json:"details,omitempty"`
	Answer   *answerContext `json:"answer,omitempty"`
}

type answerContext struct {
	TaskID string `json:"taskId"`
}

// refused is the answer to a request of which no result came. Conditions that KAP
// gives a status of HTTP have that one; requests that are wrong in themselves have
// the one of HTTP, since KAP says nothing of them; all else is 500.
func refused(e *fault.Error) answer {
	a := answer{Status: failed, Output: e.Message, code: http.StatusInternalServerError, retryAfter: e.RetryAfter}
	p := problem{Reason: string(e.Reason)}
	for _, f := range e.Fields {
		p.Fields = append(p.Fields, field{f.Path, f.Problem})
	}
	a.Data = p
	switch e.Reason {
	case fault.Unauthenticated:
		a.code = http.StatusUnauthorized
	case fault.PermissionDenied:
		a.code = http.StatusForbidden
	case fault.RateLimited:
		a.code = http.StatusTooManyRequests
	case fault.InvalidArgument, unknownCapability:
		a.code = http.StatusBadRequest
	case fault.UnsupportedOperation:
		a.code = http.StatusMethodNotAllowed
	case fault.MessageIDConflict:
		a.code = http.StatusConflict
	case fault.TooLarge:
		a.code = http.StatusRequestEntityTooLarge
	case fault.ContentTypeNotSupported:
		a.code = http.StatusUnsupportedMediaType
	}
	return a
}

// unknownCapability is the reason of a request for what is not on the card.
const unknownCapability fault.Reason = "UNKNOWN_CAPABILITY"

// answered is the answer of an agent that made no task.
func answered(m *a2apb.Message) answer {
	a := answer{Status: success, code: http.StatusOK}
	a.tell(m.GetParts())
	return a
}

// again says how the end of what is pending is heard of, and pollAfter when.
const (
	again     = "Send the same request again to hear of it."
	pollAfter = 5 * time.Second
)

// told is the answer that a task amounts to at present.
func told(t *a2apb.Task) answer {
	s := t.GetStatus()
	said := agent.TextOf(s.GetMessage().GetParts())
	a := answer{Status: pending, code: http.StatusOK, Metadata: facts{TaskID: t.GetId()}, Data: state{State: stateName(s.GetState())}}
	switch s.GetState() {
	case a2apb.TaskState_TASK_STATE_COMPLETED:
		a.Status, a.Data = success, nil
		var parts []*a2apb.Part
		for _, one := range t.GetArtifacts() {
			parts = append(parts, one.GetParts()...)
		}
		a.tell(parts)
		if a.Output == "" {
			a.Output = said
		}
	case a2apb.TaskState_TASK_STATE_FAILED, a2apb.TaskState_TASK_STATE_CANCELED, a2apb.TaskState_TASK_STATE_REJECTED:
		a.Status, a.Output = failed, said
		if said == "" {
			a.Output = "The request ended without a result: " + stateName(s.GetState()) + "."
		}
	case a2apb.TaskState_TASK_STATE_INPUT_REQUIRED:
		asks := state{State: stateName(s.GetState()), Question: said, Answer: &answerContext{t.GetId()}}
		if data := agent.DataOf(s.GetMessage().GetParts()); data != nil {
			asks.Details = data.AsInterface()
		}
		a.Data, a.Output = asks, strings.TrimSpace(said+" To answer, send a request with a new id and this taskId in its context.")
	default:
		a.Output, a.retryAfter = strings.TrimSpace(said+" "+again), pollAfter
	}
	return a
}

func stateName(s a2apb.TaskState) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(s.String(), "TASK_STATE_")), "_", "-")
}

// tell puts parts into an answer: texts, one below the other, as its output; one
// object as its data, and several things as the list "parts" in it.
func (a *answer) tell(parts []*a2apb.Part) {
	var (
		texts []string
		items []any
	)
	for _, p := range parts {
		switch {
		case p.GetData() != nil:
			items = append(items, p.GetData().AsInterface())
		case p.GetRaw() != nil || p.GetUrl() != "":
			if text, err := protojson.Marshal(p); err == nil {
				items = append(items, json.RawMessage(text))
			}
		case p.GetText() != "":
			texts = append(texts, p.GetText())
		}
	}
	a.Output = strings.Join(texts, "\n\n")
	if len(items) == 1 {
		if object, ok := items[0].(map[string]any); ok {
			a.Data = object
			a.Metadata.Model, _ = object["model"].(string)
			return
		}
	}
	if len(items) > 0 {
		a.Data = map[string]any{"parts": items}
	}
}

func (a answer) write(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	if a.code == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", `Bearer realm="a2a"`)
	}
	if a.retryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(max(1, int(math.Ceil(a.retryAfter.Seconds())))))
	}
	body, err := json.Marshal(a)
	if err != nil { // a number that JSON does not have, in the data of an agent
		a.Data, a.Output, a.Status, a.code = nil, "the agent's answer cannot be written as JSON", failed, http.StatusInternalServerError
		body, _ = json.Marshal(a)
	}
	w.WriteHeader(a.code)
	_, _ = w.Write(body)
}
