package cardsig_test

import (
	"strings"
	"testing"

	"sabha.dev/chassis/cardsig"
)

func TestCanonical(t *testing.T) {
	for _, tt := range []struct{ name, card, want string }{
		// RFC 8785, 3.2.2 and 3.2.3; the members are none of a card's.
		{
			"numbers, strings and literals", `{
			"numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001, -0, 1e21, 123456789012345680000],
			"string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
			"literals": [null, true, false]}`,
			`{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27,0,1e+21,123456789012345680000],"string":"€$\u000f\nA'B\"\\\\\"/"}`,
		},
		{
			"names by UTF-16", `{"\u20ac": "Euro Sign", "\r": "Carriage Return", "\ufb33": "Hebrew Letter Dalet With Dagesh", "1": "One", "\ud83d\ude00": "Emoji: Grinning Face", "\u0080": "Control", "\u00f6": "Latin Small Letter O With Diaeresis"}`,
			"{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u0080\":\"Control\",\"ö\":\"Latin Small Letter O With Diaeresis\",\"€\":\"Euro Sign\",\"😀\":\"Emoji: Grinning Face\",\"\ufb33\":\"Hebrew Letter Dalet With Dagesh\"}",
		},
		// Specification, 8.4.1.
		{
			"defaults", `{"name": "Example Agent", "description": "", "capabilities": {"streaming": false, "pushNotifications": false, "extensions": []}, "skills": []}`,
			`{"capabilities":{"pushNotifications":false,"streaming":false},"description":"","name":"Example Agent","skills":[]}`,
		},
		{"signatures", `{"name": "a", "signatures": [{"protected": "x"}]}`, `{"name":"a"}`},
		{
			"unknown members stay", `{"name": "a", "x": {"empty": "", "none": null, "list": []}, "provider": {"url": "", "organization": "o", "more": 0}}`,
			`{"name":"a","provider":{"more":0,"organization":"o","url":""},"x":{"empty":"","list":[],"none":null}}`,
		},
		{"null is absent", `{"name": "a", "provider": null, "iconUrl": null}`, `{"name":"a"}`},
		{
			"inside lists and maps", `{"skills": [{"id": "s", "examples": [], "inputModes": ["t"]}], "securitySchemes": {"k": {"apiKeySecurityScheme": {"description": "", "name": "n", "location": "header"}}}, "supportedInterfaces": [{"url": "u", "tenant": ""}]}`,
			`{"securitySchemes":{"k":{"apiKeySecurityScheme":{"location":"header","name":"n"}}},"skills":[{"id":"s","inputModes":["t"]}],"supportedInterfaces":[{"url":"u"}]}`,
		},
		{
			"free objects stay", `{"capabilities": {"extensions": [{"uri": "u", "required": false, "params": {"a": "", "b": [], "c": null}}]}}`,
			`{"capabilities":{"extensions":[{"params":{"a":"","b":[],"c":null},"uri":"u"}]}}`,
		},
		{"an empty requirement is one", `{"skills": [{"id": "s", "securityRequirements": [{}]}]}`, `{"skills":[{"id":"s","securityRequirements":[{}]}]}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := cardsig.Canonical([]byte(tt.card))
			if err != nil || string(got) != tt.want {
				t.Errorf("%v\n got %s\nwant %s", err, got, tt.want)
			}
			again, err := cardsig.Canonical(got)
			if err != nil || string(again) != tt.want {
				t.Errorf("of itself: %v\n got %s\nwant %s", err, again, tt.want)
			}
		})
	}
}

func TestCanonicalRefusesWhatReadersReadDifferently(t *testing.T) {
	for _, tt := range []struct{ name, card, want string }{
		{"a member twice", `{"name": "a", "name": "b"}`, `the member "name" stands twice in an object`},
		{"a member twice, escaped", `{"skills": [{"id": "a", "\u0069d": "b"}]}`, `the member "id" stands twice in an object`},
		{"half a pair", `{"name": "\ud83d"}`, "byte 10: half of a surrogate pair"},
		{"two high halves", `{"name": "\ud83d\ud83d\ude00"}`, "half of a surrogate pair"},
		{"a low half", `{"name": "\ude00"}`, "half of a surrogate pair"},
		{"not UTF-8", "{\"name\": \"\xff\"}", "it is not UTF-8"},
		{"a number beyond a double", `{"x": 1e400}`, "the number 1e400 is beyond a double"},
		{"a list", `[1]`, "it is not a JSON object"},
		{"nothing", ``, "it is not JSON that all readers read alike"},
		{"half an object", `{"name": `, "it is not JSON that all readers read alike"},
		{"two objects", `{} {}`, "something follows the JSON object"},
		{"too deep", `{"x": ` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`, "nested deeper than 64 levels"},
		{"too large", `{"x": "` + strings.Repeat("a", cardsig.MaxSize) + `"}`, "it is larger than 1048576 bytes"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := cardsig.Canonical([]byte(tt.card))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%q, %v; want %q", got, err, tt.want)
			}
		})
	}
	if got, err := cardsig.Canonical([]byte(`{"name": "\\ud83d \ud83d\ude00"}`)); err != nil || string(got) != `{"name":"\\ud83d 😀"}` {
		t.Errorf("an escaped backslash is no half: %s, %v", got, err)
	}
}

func FuzzCanonical(f *testing.F) {
	for _, seed := range []string{`{}`, `{"name":"a","skills":[]}`, `{"x":[1e5,-0,"\u0000"]}`, `{"capabilities":{"extensions":[{"params":{"a":null}}]}}`, `{"a":"\ud83d\ude00"}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, card []byte) {
		once, err := cardsig.Canonical(card)
		if err != nil {
			return
		}
		twice, err := cardsig.Canonical(once)
		if err != nil || string(once) != string(twice) {
			t.Fatalf("%q became %q, then %q, %v", card, once, twice, err)
		}
	})
}
