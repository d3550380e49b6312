package strictyaml_test

import (
	"encoding/json"
	"strings"
	"testing"

	"sabha.dev/chassis/strictyaml"
)

func TestAValueIsWhatJSONWouldSay(t *testing.T) {
	for text, want := range map[string]string{
		"a: {b: [1, 2.5, x, true, null]}": `{"a":{"b":[1,2.5,"x",true,null]}}`,
		"day: 2026-05-04":                 `{"day":"2026-05-04"}`,
		`n: "12"`:                         `{"n":"12"}`,
		"hex: 0x10":                       `{"hex":16}`,
	} {
		var got []byte
		if err := strictyaml.Parse("f.yaml", []byte(text), func(n strictyaml.Node) { got, _ = json.Marshal(n.Value()) }); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if string(got) != want {
			t.Errorf("%s is %s, want %s", text, got, want)
		}
	}
	err := strictyaml.Parse("f.yaml", []byte("a:\n  - .nan"), func(n strictyaml.Node) { n.Value() })
	if err == nil || !strings.Contains(err.Error(), `f.yaml:2: a[0]: ".nan" is not a number that JSON has`) {
		t.Errorf("not a number is %v", err)
	}
}
