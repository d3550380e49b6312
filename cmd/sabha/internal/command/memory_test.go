package command_test

import (
	"fmt"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/ext"
	"sabha.dev/cmd/sabha/internal/rig"
)

func TestMemoryIsListedExportedAndForgotten(t *testing.T) {
	var asked string
	p := rig.Start(t, rig.Script{Answer: func(req *a2apb.SendMessageRequest) (*a2apb.Message, error) {
		skill := req.GetMessage().GetMetadata().GetFields()[ext.Skill].GetStringValue()
		asked = fmt.Sprint(req.GetTenant(), " ", skill, " ", agent.DataOf(req.GetMessage().GetParts()).GetStructValue().AsMap())
		out := map[string]any{"forgotten": 2}
		if skill == "export" {
			out = map[string]any{"memories": []any{
				map[string]any{"id": "m1", "kind": "fact", "text": "tea is\x1b[2J hot", "superseded_by": "m2"},
				map[string]any{"id": "m2", "kind": "fact", "text": "tea is cold"},
			}}
		}
		part, err := agent.Data(out)
		return agent.Message(part), err
	}})
	for _, c := range []struct {
		args            []string
		out, err, asked string
		code            int
	}{
		{[]string{"memory", "list"}, "m1  fact  tea is [2J hot  (superseded)\nm2  fact  tea is cold\n", "", "memory export map[]", 0},
		{[]string{"memory", "forget", "m1"}, "2 forgotten.\n", "", "memory forget map[id:m1]", 0},
		{[]string{"memory", "forget", "--all"}, "2 forgotten.\n", "", "memory forget map[all:true]", 0},
		{[]string{"memory", "forget", "--context", "c1"}, "2 forgotten.\n", "", "memory forget map[context:c1]", 0},
		{[]string{"memory", "forget"}, "", "sabha: give one of ID, --context and --all\nSee: sabha memory forget --help\n", "", 2},
	} {
		asked = ""
		u := newUser(p.URL)
		if code := u.run(t.Context(), c.args...); int(code) != c.code || u.out.String() != c.out || u.err.String() != c.err || asked != c.asked {
			t.Errorf("%s: %d %q %q %q\nwant %d %q %q %q", c.args, code, u.out.String(), u.err.String(), asked, c.code, c.out, c.err, c.asked)
		}
	}
}
