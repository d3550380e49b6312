package kap_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"sabha.dev/chassis/fault"
	"sabha.dev/services/gateway/internal/kap"
)

// seedRequest is the request of the protocol's description, to the letter.
const seedRequest = `{
  "id": "req_1234567890_abc",
  "protocol": "kap/1.0",
  "from": {
    "id": "my-agent",
    "name": "My Agent",
    "organization": "My Company"
  },
  "capability": "ask",
  "input": "What's the status of order #12345?",
  "context": {
    "threadId": "thread_abc",
    "metadata": { "customerId": "cust_123" }
  },
  "timeout": 30000,
  "timestamp": "2025-01-15T10:30:00Z"
}`

func TestTheRequestOfTheProtocolsDescription(t *testing.T) {
	q, err := kap.Decode([]byte(seedRequest))
	if err != nil {
		t.Fatal(err)
	}
	want := kap.From{ID: "my-agent", Name: "My Agent", Organization: "My Company"}
	if q.ID != "req_1234567890_abc" || q.From != want || q.Capability != "ask" || q.Input != "What's the status of order #12345?" ||
		q.Thread != "thread_abc" || q.Metadata["customerId"] != "cust_123" || q.Wait != 29*time.Second {
		t.Errorf("%+v", q)
	}
}

func request(change func(map[string]any)) string {
	var object map[string]any
	if err := json.Unmarshal([]byte(seedRequest), &object); err != nil {
		panic(err)
	}
	change(object)
	body, err := json.Marshal(object)
	if err != nil {
		panic(err)
	}
	return string(body)
}

func with(name string, v any) string { return request(func(o map[string]any) { o[name] = v }) }

func without(names ...string) string {
	return request(func(o map[string]any) {
		for _, n := range names {
			delete(o, n)
		}
	})
}

func TestRequestsThatAreWrongAreToldWhereAndWhatToDo(t *testing.T) {
	for name, c := range map[string]struct{ body, path, says string }{
		"nothing":                   {"", "body", "is empty"},
		"no JSON":                   {"ask me", "body", "is not JSON: at byte 1"},
		"half of it":                {seedRequest[:40], "body", "ends in the middle"},
		"a list":                    {"[" + seedRequest + "]", "body", "must be a JSON object"},
		"a text":                    {`"ask"`, "body", "must be a JSON object"},
		"two":                       {seedRequest + seedRequest, "body", "something after"},
		"no UTF-8":                  {strings.Replace(seedRequest, "My Agent", "My \xff", 1), "body", "is not UTF-8"},
		"a field twice":             {strings.Replace(seedRequest, `"protocol"`, `"id": "other", "protocol"`, 1), "id", "stands twice"},
		"a parameter twice":         {strings.Replace(seedRequest, `"cust_123"`, `"cust_123", "customerId": "cust_124"`, 1), "context.metadata.customerId", "stands twice"},
		"deep":                      {strings.Replace(seedRequest, `"cust_123"`, strings.Repeat("[", 100)+strings.Repeat("]", 100), 1), "context.metadata.customerId[0]", "nested deeper than 64"},
		"no id":                     {without("id"), "id", "is missing; choose one"},
		"an empty id":               {with("id", ""), "id", "is missing; choose one"},
		"null as id":                {with("id", nil), "id", "is missing; choose one"},
		"a number as id":            {with("id", 7), "id", "must be a string"},
		"a huge id":                 {with("id", strings.Repeat("x", 129)), "id", "more than 128 characters"},
		"an id over two lines":      {with("id", "a\nb"), "id", "control characters"},
		"no protocol":               {without("protocol"), "protocol", `is missing; send "kap/1.0"`},
		"another protocol":          {with("protocol", "kap/2.0"), "protocol", `not spoken here; send "kap/1.0"`},
		"no capability":             {without("capability"), "capability", "is missing"},
		"no input":                  {without("input", "context"), "input", "is missing"},
		"input of spaces":           {request(func(o map[string]any) { o["input"] = " \n"; delete(o, "context") }), "input", "is missing"},
		"an object as input":        {with("input", map[string]any{}), "input", "must be a string"},
		"a text as context":         {with("context", "x"), "context", "must be an object"},
		"a list as metadata":        {with("context", map[string]any{"metadata": []any{}}), "context.metadata", "must be an object"},
		"a thread that is a number": {with("context", map[string]any{"threadId": 1}), "context.threadId", "must be a string"},
		"a long thread":             {with("context", map[string]any{"threadId": strings.Repeat("x", 257)}), "context.threadId", "more than 256"},
		"a text as from":            {with("from", "me"), "from", "must be an object"},
		"a long organization":       {with("from", map[string]any{"organization": strings.Repeat("x", 257)}), "from.organization", "more than 256"},
		"a negative timeout":        {with("timeout", -1), "timeout", "0 or more"},
		"a text as timeout":         {with("timeout", "30s"), "timeout", "must be a number of milliseconds"},
		"an endless timeout":        {strings.Replace(seedRequest, "30000", "1e999", 1), "timeout", "must be a number of milliseconds"},
		"a timestamp that is none":  {with("timestamp", "yesterday"), "timestamp", "RFC 3339"},
		"a number as timestamp":     {with("timestamp", 1736937000), "timestamp", "must be a string"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := kap.Decode([]byte(c.body))
			e := fault.As(err)
			if e == nil || e.Reason != fault.InvalidArgument || len(e.Fields) != 1 || !strings.HasPrefix(e.Fields[0].Path, c.path) || !strings.Contains(e.Fields[0].Problem, c.says) {
				t.Errorf("%v, want %s … %s", err, c.path, c.says)
			}
		})
	}
}

func TestWhatARequestNeedNotHave(t *testing.T) {
	for name, body := range map[string]string{
		"from, context, timeout, timestamp": without("from", "context", "timeout", "timestamp"),
		"input beside parameters":           without("input"),
		"a fraction of a second":            with("timestamp", "2025-01-15T10:30:00.123+05:30"),
		"fields that are not known":         with("priority", []any{1}),
		"nothing in them":                   request(func(o map[string]any) { o["from"], o["context"], o["timeout"], o["timestamp"] = nil, nil, nil, nil }),
	} {
		if _, err := kap.Decode([]byte(body)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, c := range []struct {
		timeout any
		want    time.Duration
	}{{nil, 29 * time.Second}, {0, 0}, {1500, 1350 * time.Millisecond}, {0.5, 450 * time.Microsecond}, {1e15, 5*time.Minute - time.Second}} {
		if q, err := kap.Decode([]byte(with("timeout", c.timeout))); err != nil || q.Wait != c.want {
			t.Errorf("timeout %v: waits %v (%v), want %v", c.timeout, q.Wait, err, c.want)
		}
	}
}

func TestAnIDIsFoundInWhatIsNoRequest(t *testing.T) {
	for body, want := range map[string]string{
		`{"id": "a", "protocol": 7}`: "a", `{"id": 7}`: "", ``: "", `[]`: "", `{"id": "a`: "", `{"id": "` + strings.Repeat("x", 129) + `"}`: "",
	} {
		if got := kap.IDOf([]byte(body)); got != want {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(seedRequest))
	for _, s := range []string{
		"", "{}", `{"id":"a","protocol":"kap/1.0","capability":"ask","input":"x"}`, `{"id":"a","id":"a"}`, `{"context":{"metadata":{"a":[1e400]}}}`,
		`{"timeout":-0.1}`, `[[[[`, `{"a":{"b":{"c":null}}}`, `{"é":"\ud800"}`, `nul`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		q, err := kap.Decode(body)
		if err != nil {
			e := fault.As(err)
			if e == nil || e.Reason != fault.InvalidArgument || e.Message == "" || len(e.Fields) == 0 || len(e.Fields[0].Path) > 400 {
				t.Errorf("error %v of %q is not made for clients", err, body)
			}
			return
		}
		if q.ID == "" || len([]rune(q.ID)) > 128 || q.Capability == "" || q.Wait < 0 || q.Wait > 5*time.Minute || (q.Input == "" && len(q.Metadata) == 0) {
			t.Errorf("%q is taken as %+v", body, q)
		}
		if kap.IDOf(body) != q.ID {
			t.Errorf("the id of %q is %q or %q", body, kap.IDOf(body), q.ID)
		}
	})
}

func TestMain(m *testing.M) {
	code := m.Run()
	postgres.Close()
	os.Exit(code)
}
