package kap

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
)

// Config says what is offered to callers of KAP.
type Config struct {
	// Enabled serves the card and requests; without it both paths do not exist.
	Enabled bool `yaml:"enabled"`
	// Agent is how the card names this platform.
	Agent Agent `yaml:"agent"`
	// Capabilities that callers may ask for. None means one, "ask": whatever the planner
	// makes of a question.
	Capabilities []Capability `yaml:"capabilities"`
	// AllowedOrgs are the organisations whose callers may ask; none means all. The
	// organisation is that of the credential, never what a request says.
	AllowedOrgs []string `yaml:"allowed_orgs"`
	// RateLimit of each caller.
	RateLimit Rate `yaml:"rate_limit"`
}

// Agent is the agent of a card.
type Agent struct {
	ID           string   `yaml:"id" json:"id"`
	Name         string   `yaml:"name" json:"name"`
	Description  string   `yaml:"description" json:"description"`
	Organization string   `yaml:"organization" json:"organization"`
	Version      string   `yaml:"-" json:"version"`
	Tags         []string `yaml:"tags" json:"tags"`
}

// Capability is what callers may ask for, and which agent it is asked of.
type Capability struct {
	ID          string `yaml:"id"`
	Name        string `yaml:"name"`
	Description string `yaml:"description"`
	// InputSchema (JSON Schema, draft 2020-12) is what context.metadata of a request has
	// to be; none means anything.
	InputSchema map[string]any `yaml:"input_schema"`
	// Tenant is the persona; empty means the planner.
	Tenant string `yaml:"tenant"`
	// Skill of the persona, or Playbook of the planner; none means that it chooses.
	Skill    string `yaml:"skill"`
	Playbook string `yaml:"playbook"`
	// RequiresConfirmation makes a person approve each request before anything is done.
	RequiresConfirmation bool `yaml:"requires_confirmation"`
	// Anonymous opens it to callers without credentials. Its skill must be one that is
	// open to them, which is so only for direct answers.
	Anonymous bool `yaml:"anonymous"`
}

// Rate is how many requests one caller may make; 0 is the default.
type Rate struct {
	RequestsPerMinute int `yaml:"requests_per_minute" json:"requestsPerMinute"`
	RequestsPerDay    int `yaml:"requests_per_day" json:"requestsPerDay"`
}

// defaultRate is that of the protocol's description.
var defaultRate = Rate{RequestsPerMinute: 30, RequestsPerDay: 1000}

var ask = Capability{ID: "ask", Name: "Ask", Description: "Ask a question or make a request in your own words."}

func (c Config) complete() Config {
	c.Agent.ID = cmp.Or(c.Agent.ID, "sabha")
	c.Agent.Name = cmp.Or(c.Agent.Name, "Sabha")
	c.Agent.Description = cmp.Or(c.Agent.Description, "Answers questions and carries out requests with the agents of a Sabha platform.")
	c.Agent.Organization = cmp.Or(c.Agent.Organization, c.Agent.Name)
	if c.Agent.Tags == nil {
		c.Agent.Tags = []string{}
	}
	if len(c.Capabilities) == 0 {
		c.Capabilities = []Capability{ask}
	}
	c.RateLimit.RequestsPerMinute = cmp.Or(c.RateLimit.RequestsPerMinute, defaultRate.RequestsPerMinute)
	c.RateLimit.RequestsPerDay = cmp.Or(c.RateLimit.RequestsPerDay, defaultRate.RequestsPerDay)
	return c
}

var capabilityID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// Check says what cannot be meant in a configuration; tenants are the personas that
// callers may reach beside the planner.
func (c Config) Check(tenants []string) error {
	var errs []error
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf("kap."+format, args...)) }
	if c.RateLimit.RequestsPerMinute < 0 || c.RateLimit.RequestsPerDay < 0 {
		wrong("rate_limit: requests_per_minute and requests_per_day must not be negative")
	}
	if slices.Contains(c.AllowedOrgs, "") {
		wrong("allowed_orgs: a name is empty")
	}
	for i, one := range c.Capabilities {
		at := fmt.Sprintf("capabilities[%d]", i)
		switch {
		case !capabilityID.MatchString(one.ID):
			wrong("%s.id: %q must have 1 to 64 letters, digits or . _ -", at, one.ID)
		case slices.ContainsFunc(c.Capabilities[:i], func(o Capability) bool { return o.ID == one.ID }):
			wrong("%s.id: %q stands twice", at, one.ID)
		}
		if one.Name == "" || one.Description == "" {
			wrong("%s: name and description are needed: callers choose by them", at)
		}
		if one.Tenant != "" && !slices.Contains(tenants, one.Tenant) {
			wrong("%s.tenant: %q is none of the tenants %v; leave it out for the planner", at, one.Tenant, tenants)
		}
		if one.Playbook != "" && (one.Tenant != "" || one.Skill != "") {
			wrong("%s.playbook: playbooks are the planner's own; leave tenant and skill out", at)
		}
		if one.RequiresConfirmation && one.Tenant != "" {
			wrong("%s.requires_confirmation: only the planner asks people first; leave tenant out", at)
		}
		if one.Anonymous && one.RequiresConfirmation {
			wrong("%s.anonymous: who must be confirmed has to be known; leave anonymous or requires_confirmation out", at)
		}
		if one.Anonymous && len(c.AllowedOrgs) > 0 {
			wrong("%s.anonymous: anonymous callers have no organisation, and allowed_orgs asks for one; leave one of them out", at)
		}
		if _, err := compile(one.InputSchema); err != nil {
			wrong("%s.input_schema: %w", at, err)
		}
	}
	return errors.Join(errs...)
}
