package card

import (
	"encoding/json"
	"fmt"
	"maps"
	"mime"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/encoding/protojson"
)

// Check reads a card. The card is nil when the JSON is none of A2A 1.0; then a
// finding says why.
func Check(raw []byte) (*a2apb.AgentCard, []Finding) {
	r := &report{}
	var tree map[string]any
	if err := json.Unmarshal(raw, &tree); err != nil || tree == nil {
		r.errorf("", "is not a JSON object; the address may be that of something else")
		return nil, r.findings
	}
	if _, ok := tree["supportedInterfaces"]; !ok && tree["url"] != nil {
		r.errorf("", "is a card of A2A 0.3 (it has url and no supportedInterfaces); 1.0 clients cannot use it")
	}
	c := &a2apb.AgentCard{}
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(raw, c); err != nil {
		r.errorf("", "does not have the form of a card: %s", reason(err))
		return nil, r.findings
	}
	if err := strict(raw, tree, c); err != nil {
		r.warnf("", "has a field that A2A 1.0 does not know, which clients ignore: %s", reason(err))
	}
	r.whole(c, tree)
	r.interfaces(c)
	r.skills(c)
	r.security(c)
	return c, r.findings
}

// strict reads a card without the fields of A2A 0.3, if it has an interface of that
// version: such a card is for clients of both.
func strict(raw []byte, tree map[string]any, c *a2apb.AgentCard) error {
	if slices.ContainsFunc(c.GetSupportedInterfaces(), func(i *a2apb.AgentInterface) bool { return i.GetProtocolVersion() == "0.3" }) {
		for _, name := range []string{"url", "preferredTransport", "additionalInterfaces", "protocolVersion", "security", "supportsAuthenticatedExtendedCard"} {
			delete(tree, name)
		}
		skills, _ := tree["skills"].([]any)
		for _, s := range skills {
			if skill, ok := s.(map[string]any); ok {
				delete(skill, "security")
			}
		}
		schemes, _ := tree["securitySchemes"].(map[string]any)
		for _, s := range schemes {
			if scheme, ok := s.(map[string]any); ok {
				// What 1.0 has is one object, named for its kind.
				maps.DeleteFunc(scheme, func(name string, _ any) bool { return !strings.HasSuffix(name, "SecurityScheme") })
			}
		}
		var err error
		if raw, err = json.Marshal(tree); err != nil {
			return err
		}
	}
	return protojson.Unmarshal(raw, &a2apb.AgentCard{})
}

// reason is what protojson says, without its own name, whose spacing varies.
func reason(err error) string {
	s := strings.ReplaceAll(err.Error(), "\u00a0", " ")
	return strings.TrimPrefix(strings.TrimPrefix(s, "proto: "), "(line 1:1): ")
}

// whole checks the fields that a card must have (specification 4.4.1).
func (r *report) whole(c *a2apb.AgentCard, tree map[string]any) {
	for _, f := range []struct{ name, value string }{{"name", c.GetName()}, {"description", c.GetDescription()}, {"version", c.GetVersion()}} {
		if strings.TrimSpace(f.value) == "" {
			r.errorf(f.name, "is missing; the specification requires it")
		}
	}
	if _, ok := tree["capabilities"]; !ok {
		r.errorf("capabilities", "is missing; write {} if there are none")
	}
	r.modes("defaultInputModes", c.GetDefaultInputModes(), true)
	r.modes("defaultOutputModes", c.GetDefaultOutputModes(), true)
	if p := c.GetProvider(); p != nil && (p.GetOrganization() == "" || p.GetUrl() == "") {
		r.errorf("provider", "needs both organization and url")
	}
	for i, e := range c.GetCapabilities().GetExtensions() {
		if u, err := url.Parse(e.GetUri()); err != nil || u.Scheme == "" {
			r.errorf(fmt.Sprintf("capabilities.extensions[%d].uri", i), "%q is not a URI", e.GetUri())
		}
	}
	if len(c.GetSignatures()) == 0 {
		r.warnf("signatures", "is empty: nobody can tell whether the card was altered on its way")
	}
	for i, s := range c.GetSignatures() {
		if s.GetProtected() == "" || s.GetSignature() == "" {
			r.errorf(fmt.Sprintf("signatures[%d]", i), "needs protected and signature (RFC 7515)")
		}
	}
}

func (r *report) modes(path string, modes []string, required bool) {
	if required && len(modes) == 0 {
		r.errorf(path, "is empty; name at least one media type, such as text/plain")
	}
	for i, m := range modes {
		if t, _, err := mime.ParseMediaType(m); err != nil || !strings.Contains(t, "/") {
			r.errorf(fmt.Sprintf("%s[%d]", path, i), "%q is not a media type", m)
		}
	}
}

// bindings that the specification defines (4.4.6); others are URIs.
var bindings = []string{"JSONRPC", "GRPC", "HTTP+JSON"}

var protocolForm = regexp.MustCompile(`^\d+\.\d+$`)

func (r *report) interfaces(c *a2apb.AgentCard) {
	if len(c.GetSupportedInterfaces()) == 0 {
		r.errorf("supportedInterfaces", "is empty: no client can reach the agent")
	}
	seen := map[string]bool{}
	for i, in := range c.GetSupportedInterfaces() {
		path := fmt.Sprintf("supportedInterfaces[%d]", i)
		binding := in.GetProtocolBinding()
		switch {
		case binding == "":
			r.errorf(path+".protocolBinding", "is missing; one of %s", strings.Join(bindings, ", "))
		case !slices.Contains(bindings, binding) && !strings.Contains(binding, ":"):
			r.warnf(path+".protocolBinding", "%q is none of %s, and no URI of another binding", binding, strings.Join(bindings, ", "))
		}
		if !protocolForm.MatchString(in.GetProtocolVersion()) {
			r.errorf(path+".protocolVersion", "%q is not Major.Minor, such as 1.0", in.GetProtocolVersion())
		}
		r.address(path+".url", in.GetUrl(), binding)
		key := in.GetUrl() + " " + binding + " " + in.GetTenant() + " " + in.GetProtocolVersion()
		if seen[key] {
			r.warnf(path, "repeats an interface above")
		}
		seen[key] = true
	}
}

// address checks where an interface is said to be: gRPC may be written as
// host:port, the others are URLs.
func (r *report) address(path, s, binding string) {
	host := ""
	u, err := url.Parse(s)
	switch {
	case s == "":
		r.errorf(path, "is missing")
		return
	case binding == "GRPC" && !strings.Contains(s, "://"):
		if host, _, err = net.SplitHostPort(s); err != nil {
			r.errorf(path, "%q is not host:port", s)
			return
		}
	case err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https"):
		r.errorf(path, "%q is not an absolute http or https URL", s)
		return
	default:
		host = u.Hostname()
		if u.Scheme == "http" && !loopback(host) {
			r.warnf(path, "is plain http; production needs TLS (specification 7.1)")
		}
	}
	if ip := net.ParseIP(host); host == "" || (ip != nil && ip.IsUnspecified()) {
		r.errorf(path, "%q is an address to listen on, which no client can call; publish the one that clients reach", s)
	}
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || (ip != nil && ip.IsLoopback())
}

func (r *report) skills(c *a2apb.AgentCard) {
	if len(c.GetSkills()) == 0 {
		r.warnf("skills", "is empty: clients cannot tell what the agent does")
	}
	first := map[string]int{}
	for i, s := range c.GetSkills() {
		path := fmt.Sprintf("skills[%d]", i)
		for _, f := range []struct{ name, value string }{{"id", s.GetId()}, {"name", s.GetName()}, {"description", s.GetDescription()}} {
			if strings.TrimSpace(f.value) == "" {
				r.errorf(path+"."+f.name, "is missing; the specification requires it")
			}
		}
		if len(s.GetTags()) == 0 {
			r.errorf(path+".tags", "is empty; the specification requires at least one")
		}
		if other, ok := first[s.GetId()]; ok && s.GetId() != "" {
			r.errorf(path+".id", "%q is the id of skills[%d] too", s.GetId(), other)
		} else {
			first[s.GetId()] = i
		}
		r.modes(path+".inputModes", s.GetInputModes(), false)
		r.modes(path+".outputModes", s.GetOutputModes(), false)
		r.requirements(path+".securityRequirements", s.GetSecurityRequirements(), c)
	}
}

func (r *report) security(c *a2apb.AgentCard) {
	r.requirements("securityRequirements", c.GetSecurityRequirements(), c)
	for _, name := range slices.Sorted(maps.Keys(c.GetSecuritySchemes())) {
		if c.GetSecuritySchemes()[name].GetScheme() == nil {
			r.errorf("securitySchemes."+name, "says no kind of scheme")
		}
	}
}

func (r *report) requirements(path string, list []*a2apb.SecurityRequirement, c *a2apb.AgentCard) {
	for i, req := range list {
		for _, name := range slices.Sorted(maps.Keys(req.GetSchemes())) {
			if _, ok := c.GetSecuritySchemes()[name]; !ok {
				r.errorf(fmt.Sprintf("%s[%d]", path, i), "requires %q, which securitySchemes does not define", name)
			}
		}
	}
}

// Headers checks how a card was served (specification 8.6).
func Headers(h http.Header) []Finding {
	r := &report{}
	switch t, _, err := mime.ParseMediaType(h.Get("Content-Type")); {
	case err != nil || (t != "application/json" && t != "application/a2a+json"):
		r.warnf("", "is served as %q; application/json is what clients expect", h.Get("Content-Type"))
	}
	if h.Get("Cache-Control") == "" {
		r.warnf("", "is served without Cache-Control, so clients do not know how long it holds")
	}
	if h.Get("ETag") == "" {
		r.warnf("", "is served without ETag, so clients cannot ask whether it has changed")
	}
	return r.findings
}
