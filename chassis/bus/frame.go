package bus

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	busv1 "sabha.dev/gen/sabha/bus/v1"
)

// Message types of frames.
const (
	Delegate = "DELEGATE_SUBTASK"
	Status   = "SUBTASK_STATUS"
	Result   = "SUBTASK_RESULT"
	Failure  = "SUBTASK_ERROR"
)

// Encodings of a frame, as its NATS header Content-Type names them.
const (
	JSON     = "application/json"
	Protobuf = "application/protobuf"
)

// maxFrame bounds a frame, bytes.
const maxFrame = 1 << 20

// decode reads a frame. Without a Content-Type it is JSON.
func decode(contentType string, raw []byte) (*busv1.Frame, error) {
	if len(raw) > maxFrame {
		return nil, fmt.Errorf("the frame is larger than %d bytes", maxFrame)
	}
	f := &busv1.Frame{}
	switch contentType {
	case "", JSON:
		if err := (protojson.UnmarshalOptions{DiscardUnknown: true, RecursionLimit: 100}).Unmarshal(raw, f); err != nil {
			return nil, errors.New("the frame is not JSON of a KALKI frame: " + strings.TrimSpace(strings.TrimPrefix(err.Error(), "proto:")))
		}
	case Protobuf:
		if err := (proto.UnmarshalOptions{DiscardUnknown: true, RecursionLimit: 100}).Unmarshal(raw, f); err != nil {
			return nil, errors.New("the frame is not a Protobuf sabha.bus.v1.Frame")
		}
	default:
		return nil, fmt.Errorf("Content-Type %q is not known; send %s or %s", contentType, JSON, Protobuf)
	}
	return f, nil
}

func encode(contentType string, f *busv1.Frame) ([]byte, error) {
	if contentType == Protobuf {
		return proto.Marshal(f)
	}
	return protojson.MarshalOptions{UseProtoNames: true}.Marshal(f)
}

// check says what is wrong with a delegation to a persona.
func check(persona string, f *busv1.Frame) error {
	switch {
	case f.GetMessageType() != Delegate:
		return fmt.Errorf("message_type is %q; this subject takes %s", f.GetMessageType(), Delegate)
	case name(f.GetTargetAgent()) != persona:
		return fmt.Errorf("target_agent is %q; this subject is that of %s", f.GetTargetAgent(), persona)
	case name(f.GetParentAgent()) == "":
		return errors.New("parent_agent is missing; replies go to the subject that carries its name")
	case f.GetPayload().GetSubtaskId() == "":
		return errors.New("payload.subtask_id is missing; choose one that is unique for you")
	case f.GetPayload().GetInstruction() == "" && len(f.GetPayload().GetRequiredContext().GetFields()) == 0:
		return errors.New("payload.instruction is missing; say what to do")
	case f.GetPayload().GetTimeoutMs() < 0:
		return errors.New("payload.timeout_ms must not be negative")
	}
	if t := f.GetTimestampUtc(); t != "" {
		if _, err := time.Parse(time.RFC3339, t); err != nil {
			return fmt.Errorf("timestamp_utc is %q; want RFC 3339 in UTC", t)
		}
	}
	return nil
}

// name turns an agent's name into the token of its subject: "ResearchAgent" and
// "research" are both research. What cannot be a token gives "".
func name(agent string) string {
	n := strings.ToLower(strings.TrimSuffix(agent, "Agent"))
	if n == "" || len(n) > 64 || strings.ContainsAny(n, ".*> \t\r\n") {
		return ""
	}
	return n
}

// traceID maps any trace id to one of W3C: 32 hex digits stay, anything else is
// hashed, so that the same id always maps to the same trace.
func traceID(id string) string {
	if raw, err := hex.DecodeString(id); err == nil && len(raw) == 16 && strings.Trim(id, "0") != "" {
		return strings.ToLower(id)
	}
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:16])
}
