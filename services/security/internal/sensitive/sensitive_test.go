package sensitive

import (
	"reflect"
	"strings"
	"testing"
)

func TestFindNamesKinds(t *testing.T) {
	cases := []struct {
		name, text string
		want       []Class
	}{
		{"nothing", "What is the rate for fifteen years?", []Class{}},
		{"iban", "IBAN DE89 3704 0044 0532 0130 00 please", []Class{{IBAN, 1}}},
		{"iban with a wrong digit", "IBAN DE88 3704 0044 0532 0130 00 please", []Class{}},
		{"card", "card 4111 1111 1111 1111 and 4111-1111-1111-1112", []Class{{Card, 1}}},
		{"email and phone", "anna@example.org, b@example.org, +49 561 123456-7", []Class{{Email, 2}, {Phone, 1}}},
		{"keys", "sk-" + strings.Repeat("a1", 12) + " and AKIA" + strings.Repeat("A", 16), []Class{{APIKey, 2}}},
		{"token", "eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiJ4In0.c2ln", []Class{{Token, 1}}},
		{"private key", "-----BEGIN EC " + "PRIVATE KEY-----", []Class{{PrivateKey, 1}}},
		{"password", "Password: hunter22", []Class{{Password, 1}}},
		{"a question about passwords", "I forgot my password.", []Class{}},
	}
	f := New()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := f.Find(c.text); !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func FuzzFind(f *testing.F) {
	f.Add("DE89 3704 0044 0532 0130 00")
	f.Add("0000000000000 4111111111111111")
	finder := New()
	f.Fuzz(func(t *testing.T, s string) {
		for _, c := range finder.Find(s) {
			if c.Count <= 0 || c.Count > len(s) {
				t.Errorf("%q: %d of %s", s, c.Count, c.Kind)
			}
		}
	})
}
