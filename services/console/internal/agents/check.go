package agents

import (
	"fmt"
	"mime"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
)

// Check says what a card lacks of what clients rely on (specification 4.4.1 and
// 4.4.5). Interfaces and security are those of the publisher and are not looked at.
func Check(c *a2apb.AgentCard) []string {
	var problems []string
	say := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	for name, value := range map[string]string{"name": c.GetName(), "description": c.GetDescription(), "version": c.GetVersion()} {
		if strings.TrimSpace(value) == "" {
			say("It has no %s.", name)
		}
	}
	for name, modes := range map[string][]string{"defaultInputModes": c.GetDefaultInputModes(), "defaultOutputModes": c.GetDefaultOutputModes()} {
		if len(modes) == 0 {
			say("It has no %s.", name)
		}
		problems = append(problems, badModes(name, modes)...)
	}
	// Partners tells its skills only to those who may call them.
	if len(c.GetSkills()) == 0 && !c.GetCapabilities().GetExtendedAgentCard() {
		say("It offers no skill.")
	}
	seen := map[string]bool{}
	for i, s := range c.GetSkills() {
		id := s.GetId()
		switch {
		case id == "":
			say("Skill %d has no id.", i+1)
			continue
		case seen[id]:
			say("The skill %s is there twice.", id)
		}
		seen[id] = true
		if s.GetName() == "" || s.GetDescription() == "" {
			say("The skill %s has no name or no description.", id)
		}
		if len(s.GetTags()) == 0 {
			say("The skill %s has no tags.", id)
		}
		problems = append(problems, badModes("the skill "+id, append(s.GetInputModes(), s.GetOutputModes()...))...)
	}
	return sorted(problems)
}

func badModes(of string, modes []string) []string {
	var bad []string
	for _, m := range modes {
		if kind, _, err := mime.ParseMediaType(m); err != nil || !strings.Contains(kind, "/") {
			bad = append(bad, fmt.Sprintf("%q of %s is no media type.", m, of))
		}
	}
	return bad
}
