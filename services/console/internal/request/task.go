package request

import (
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	adminv1 "sabha.dev/gen/sabha/admin/v1"
)

// Task is a request of a client.
type Task struct {
	ID, ContextID, TraceID string
	Agent, Skill           string
	State                  State
	// Note is the text of the current status; Text what was asked, shortened.
	Note, Text string
	// Principal is who asked, Who the same as organisation/subject, Caller the service
	// that brought it.
	Principal, Who, Caller string
	// Replica works on it now; empty when none does.
	Replica          string
	Created, Changed time.Time
	Plan             Plan
	Models           Models
}

// OfSummary reads a task from the contract.
func OfSummary(s *adminv1.TaskSummary) Task {
	return Task{
		ID: s.GetId(), ContextID: s.GetContextId(), TraceID: s.GetTraceId(), Agent: s.GetAgent(), Skill: s.GetSkill(), State: FromWire(s.GetState()),
		Note: strings.TrimSpace(s.GetNote()), Text: strings.TrimSpace(s.GetRequest()), Principal: Principal(s.GetPrincipal()), Who: s.GetPrincipal(), Caller: s.GetCaller(),
		Replica: s.GetOwner(), Created: at(s.GetCreatedAt()), Changed: at(s.GetStatusAt()), Plan: ofMetadata(s.GetPlan()), Models: modelsOf(s.GetModels()),
	}
}

// Principal makes the key "organisation/subject" readable.
func Principal(key string) string {
	organisation, subject, found := strings.Cut(key, "/")
	switch {
	case key == "":
		return "anonymous"
	case !found:
		return key
	case organisation == "":
		return subject
	}
	return subject + " (" + organisation + ")"
}

// at is a time, zero when there is none.
func at(t *timestamppb.Timestamp) time.Time {
	if !t.IsValid() {
		return time.Time{}
	}
	return t.AsTime()
}
