package engine

import (
	"context"
	"fmt"
	"mime"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc/metadata"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/ext"
	"sabha.dev/chassis/fault"
)

// Protocol is the version of A2A that the engine serves.
const Protocol = "1.0"

// DeadlineHeader of gRPC metadata carries the deadline of the calling task between services, in
// milliseconds since 1970, so that a child never outlives its parent's budget.
const DeadlineHeader = "sabha-deadline"

// hopAllowance is what a caller keeps of its budget to hear and record the end of a child.
const hopAllowance = 50 * time.Millisecond

func formatDeadline(t time.Time) string { return strconv.FormatInt(t.UnixMilli(), 10) }

func callerDeadline(ctx context.Context) time.Time {
	md, _ := metadata.FromIncomingContext(ctx)
	v := md.Get(DeadlineHeader)
	if len(v) != 1 {
		return time.Time{}
	}
	ms, err := strconv.ParseInt(v[0], 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMilli(ms).Add(-hopAllowance)
}

// CheckVersion refuses calls in a protocol version that is not served
// (specification 3.6): patch numbers are ignored, absent means 0.3.
func CheckVersion(ctx context.Context) error {
	md, _ := metadata.FromIncomingContext(ctx)
	version := strings.Join(md.Get(ext.MetadataVersion), ",")
	if version == "" {
		version = "0.3"
	}
	parts := strings.SplitN(strings.TrimSpace(version), ".", 3)
	if len(parts) >= 2 && parts[0]+"."+parts[1] == Protocol {
		return nil
	}
	return fault.New(fault.VersionNotSupported, "A2A version %q is not served here; send A2A-Version: %s, or call the methods of your version if the agent card names an interface of it", version, Protocol).
		With("supportedVersions", Protocol)
}

// protocolOf is the protocol version that the client speaks: the one it was
// translated from, if an edge did so.
func protocolOf(ctx context.Context) string {
	if v := metadata.ValueFromIncomingContext(ctx, ext.MetadataClientVersion); len(v) == 1 {
		return v[0]
	}
	return Protocol
}

// checkExtensions refuses calls that do not name an extension the card requires.
func (e *Engine) checkExtensions(ctx context.Context) error {
	var named []string
	md, _ := metadata.FromIncomingContext(ctx)
	for _, v := range md.Get(ext.MetadataExtensions) {
		for _, uri := range strings.Split(v, ",") {
			named = append(named, strings.TrimSpace(uri))
		}
	}
	for _, x := range e.Card.GetCapabilities().GetExtensions() {
		if x.GetRequired() && !slices.Contains(named, x.GetUri()) {
			return fault.New(fault.ExtensionSupportRequired, "the agent requires extension %s; name it in A2A-Extensions", x.GetUri())
		}
	}
	return nil
}

// CheckMessage refuses a message that says nothing or says it wrongly.
func CheckMessage(m *a2apb.Message) error {
	switch {
	case m == nil:
		return fault.Invalid("message", "is missing")
	case m.GetMessageId() == "":
		return fault.Invalid("message.messageId", "is missing; choose one that is unique for you")
	case !plain(m.GetMessageId()):
		return fault.Invalid("message.messageId", "must not hold control characters")
	case len(m.GetContextId()) > 256 || !plain(m.GetContextId()):
		return fault.Invalid("message.contextId", "must have at most 256 characters and no control characters")
	case len(m.GetMessageId()) > 256:
		return fault.Invalid("message.messageId", "is longer than 256 characters")
	case m.GetRole() != a2apb.Role_ROLE_USER:
		return fault.Invalid("message.role", "must be ROLE_USER in a message to an agent")
	case len(m.GetParts()) == 0:
		return fault.Invalid("message.parts", "is empty; send at least one part")
	}
	for i, p := range m.GetParts() {
		if p.GetContent() == nil {
			return fault.Invalid(fmt.Sprintf("message.parts[%d]", i), "has no content; set one of text, raw, url and data")
		}
	}
	return nil
}

// plain tells whether an id has no control characters: they are invisible in logs,
// and a NUL is nothing a database takes.
func plain(id string) bool {
	return !strings.ContainsFunc(id, unicode.IsControl)
}

// skillFor finds the skill that a message asks for.
func (e *Engine) skillFor(req *a2apb.SendMessageRequest, outside bool) (*agent.Skill, error) {
	m := req.GetMessage()
	id := m.GetMetadata().GetFields()[ext.Skill].GetStringValue()
	if id == "" {
		id = req.GetMetadata().GetFields()[ext.Skill].GetStringValue()
	}
	named := id != ""
	if id == "" && e.Agent.Route != nil {
		id = e.Agent.Route(req)
	}
	if id == "" && len(e.Agent.Skills) > 0 {
		id = e.Agent.Skills[0].ID
	}
	s := e.skill(id)
	if s == nil || (outside && s.Internal) {
		if !named {
			return nil, fault.New(fault.UnknownSkill, "the agent cannot tell which skill is asked for; name one of: %s", e.skillNames(outside))
		}
		return nil, fault.New(fault.UnknownSkill, "the agent has no skill %q; it has: %s", id, e.skillNames(outside))
	}
	return s, nil
}

// skill gives the skill of an id, or nil.
func (e *Engine) skill(id string) *agent.Skill {
	if s, ok := e.skills[id]; ok || e.Agent.Lookup == nil {
		return s
	}
	return e.Agent.Lookup(id)
}

func (e *Engine) skillNames(outside bool) string {
	var names []string
	for _, s := range e.Agent.Skills {
		if !outside || !s.Internal {
			names = append(names, s.ID)
		}
	}
	if e.Agent.Lookup != nil {
		names = append(names, "those that its extended card lists")
	}
	return strings.Join(names, ", ")
}

// defaultModes are the media types of a skill that names none.
var defaultModes = []string{"text/plain", "application/json"}

func checkModes(s *agent.Skill, m *a2apb.Message) error {
	modes := s.InputModes
	if len(modes) == 0 {
		modes = defaultModes
	}
	for i, p := range m.GetParts() {
		if t := agent.MediaType(p); !accepts(modes, t) {
			return fault.New(fault.ContentTypeNotSupported, "message.parts[%d]: skill %s does not take %s; it takes %s", i, s.ID, t, strings.Join(modes, ", "))
		}
	}
	return nil
}

func accepts(modes []string, mediaType string) bool {
	for _, mode := range modes {
		if mode == "*/*" || strings.EqualFold(mode, mediaType) {
			return true
		}
		if major, ok := strings.CutSuffix(mode, "/*"); ok && strings.HasPrefix(mediaType, major+"/") {
			return true
		}
		if t, _, err := mime.ParseMediaType(mode); err == nil && t == mediaType {
			return true
		}
	}
	return false
}

// checkHistory refuses a negative historyLength (specification 3.2.4).
func checkHistory(n *int32) error {
	if n != nil && *n < 0 {
		return fault.Invalid("historyLength", "must not be negative")
	}
	return nil
}

// trim shortens the history of a task: absent is no limit, 0 none, n the newest n.
func trim(t *a2apb.Task, n *int32) {
	if n == nil {
		return
	}
	if keep := int(*n); len(t.GetHistory()) > keep {
		t.History = t.GetHistory()[len(t.GetHistory())-keep:]
	}
	if len(t.GetHistory()) == 0 {
		t.History = nil
	}
}

func historyOf(req *a2apb.SendMessageRequest) *int32 {
	if req.GetConfiguration() == nil {
		return nil
	}
	return req.GetConfiguration().HistoryLength
}
