package engine

import (
	"time"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/chassis/identity"
	busv1 "sabha.dev/gen/sabha/bus/v1"
)

// TraceSubject is where copies of delegations to a persona go, for the security
// persona and other watchers. Nobody works on what is there.
const TraceSubject = "kalki.trace."

// copyOut publishes a copy of a delegated task: who asked whom for what, with the
// digest of the message instead of its content, since a copy is no place for it.
func (e *Engine) copyOut(call identity.Call, traceID, messageID, skill, taskID, digest string) {
	raw, err := proto.Marshal(&busv1.Frame{
		TraceId: traceID, ParentAgent: call.Actor, TargetAgent: e.Agent.Tenant, MessageType: "DELEGATE_SUBTASK",
		Payload: &busv1.Payload{
			SubtaskId: messageID, Skill: skill, TaskId: taskID,
			RequiredContext: &structpb.Struct{Fields: map[string]*structpb.Value{"sha256": structpb.NewStringValue(digest)}},
		},
		TimestampUtc: e.Clock.Now().UTC().Format(time.RFC3339),
	})
	if err != nil {
		e.Logger.Warn("a copy of a delegation cannot be encoded", "error", err)
		return
	}
	err = e.NATS.PublishMsg(&nats.Msg{
		Subject: TraceSubject + e.Agent.Tenant, Data: raw, Header: nats.Header{"Content-Type": {"application/protobuf"}},
	})
	if err != nil {
		e.Logger.Debug("a copy of a delegation was not sent", "error", err)
	}
}
