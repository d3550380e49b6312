package form_test

import (
	"net/url"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/services/console/internal/form"
)

func value(t *testing.T, raw string) *structpb.Value {
	t.Helper()
	v := &structpb.Value{}
	if err := protojson.Unmarshal([]byte(raw), v); err != nil {
		t.Fatal(err)
	}
	return v
}

const schema = `{"type": "object", "required": ["amount", "payee"], "properties": {
	"amount": {"type": "number", "title": "Amount", "description": "In euros."}, "days": {"type": "integer"}, "payee": {"type": "string"},
	"method": {"type": "string", "enum": ["transfer", "card"]}, "urgent": {"type": "boolean"}, "note": {"type": "string"}}}`

func TestAFlatObjectIsEditedFieldByField(t *testing.T) {
	content := value(t, `{"amount": 12.5, "days": 3, "payee": "Ada <b>", "method": "transfer", "urgent": true}`)
	fields, ok := form.Of(content, value(t, schema).GetStructValue())
	if !ok {
		t.Fatal("it is flat")
	}
	var got []string
	for _, f := range fields {
		got = append(got, strings.Join([]string{f.Name, f.Label, string(f.Kind), f.Value}, "/"))
	}
	want := "amount/Amount/number/12.5 days/days/number/3 method/method/choice/transfer note/note/line/ payee/payee/line/Ada <b> urgent/urgent/yes-no/true"
	if strings.Join(got, " ") != want {
		t.Errorf("%v, want %s", got, want)
	}
	for _, c := range []struct{ name, sent, want, err string }{
		{"as it was", "amount=12.5&days=3&payee=Ada+<b>&method=transfer&urgent=true&note=", `{"amount":12.5,"days":3,"method":"transfer","payee":"Ada <b>","urgent":true}`, ""},
		{"changed", "amount=-1e3&days=4&payee=a%0D%0Ab&method=card&urgent=false&note=x", `{"amount":-1000,"days":4,"method":"card","note":"x","payee":"a\nb","urgent":false}`, ""},
		{"emptied", "amount=1&days=&payee=&method=&urgent=", `{"amount":1,"payee":""}`, ""},
		{"what is needed is missing", "amount=&payee=x", "", "Amount is missing"},
		{"no number", "amount=1,5&payee=x", "", "Amount must be a number"},
		{"no whole number", "amount=1&days=1.5&payee=x", "", "days must be a whole number"},
		{"too great a number", "amount=1e999&payee=x", "", "Amount must be a number"},
	} {
		t.Run(c.name, func(t *testing.T) {
			q, err := url.ParseQuery(c.sent)
			if err != nil {
				t.Fatal(err)
			}
			sent := url.Values{}
			for name, v := range q {
				sent[form.Prefix+name] = v
			}
			got, err := form.Read(fields, sent)
			if c.err != "" {
				if err == nil || err.Error() != c.err {
					t.Errorf("%v, want %s", err, c.err)
				}
				return
			}
			if err != nil || !proto.Equal(got, value(t, c.want)) {
				t.Errorf("%v, %v, want %s", got, err, c.want)
			}
		})
	}
}

func TestOtherContentHasNoFields(t *testing.T) {
	for _, c := range []struct{ name, content, schema string }{
		{"a text", `"hello"`, `{}`},
		{"a list", `[1]`, `{}`},
		{"an object in it", `{"a": {"b": 1}}`, `{}`},
		{"a list in it", `{"a": []}`, `{}`},
		{"nothing in it", `{}`, `{}`},
		{"a property of two types", `{"a": "x"}`, `{"properties": {"a": {"type": ["string", "null"]}}}`},
		{"a property of another type than its content", `{"a": 1}`, `{"properties": {"a": {"type": "string"}}}`},
		{"numbers to choose from", `{"a": "x"}`, `{"properties": {"a": {"type": "string", "enum": ["x", 2]}}}`},
	} {
		if fields, ok := form.Of(value(t, c.content), value(t, c.schema).GetStructValue()); ok {
			t.Errorf("%s: %v", c.name, fields)
		}
	}
}

func TestContentIsEditedAsItIsRead(t *testing.T) {
	for _, content := range []string{`"a <b>\n\"c\""`, `{"z": [1, {"y": null}], "a": "<script>"}`, `[]`, `3.25`, `null`, `true`} {
		was := value(t, content)
		got, err := form.Parse(form.Text(was), was)
		if err != nil || !proto.Equal(got, was) {
			t.Errorf("%s became %v, %v", content, got, err)
		}
	}
	for _, c := range []struct{ text, want string }{
		{"{\n  \"a\": 1,\n  b\n}", "line 3 is not JSON"}, {`{"a": 1} {}`, "there is more than one JSON value"}, {"", "line 1 is not JSON"}, {`{"a":`, "line 1 is not JSON"},
	} {
		if _, err := form.Parse(c.text, value(t, `{}`)); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%q: %v, want %s", c.text, err, c.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(`{"a": [1, "x", null]}`)
	f.Add("{\n\"a\": }")
	f.Add("1e400")
	f.Fuzz(func(t *testing.T, text string) {
		v, err := form.Parse(text, structpb.NewBoolValue(true))
		if err != nil {
			return
		}
		if _, ok := v.GetKind().(*structpb.Value_StringValue); ok {
			return // it is shown without its quotes, and edited as a text
		}
		if again, err := form.Parse(form.Text(v), v); err != nil || !proto.Equal(again, v) {
			t.Errorf("%q became %v, then %v, %v", text, v, again, err)
		}
	})
}
