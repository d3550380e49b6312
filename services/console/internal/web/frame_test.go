package web

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"sabha.dev/testrig/clocktest"
)

// read is what a browser makes of a stream: events by the rules of the HTML
// standard, 9.2.6, in which each of three ends of line ends a line.
func read(stream string) (events [][2]string) {
	stream = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(stream)
	name, data := "", []string(nil)
	for line := range strings.SplitSeq(stream, "\n") {
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "":
			if data != nil {
				events = append(events, [2]string{name, strings.Join(data, "\n")})
			}
			name, data = "", nil
		case field == "event":
			name = value
		case field == "data":
			data = append(data, value)
		}
	}
	return events
}

func FuzzAFrameIsOneEventWithItsData(f *testing.F) {
	for _, seed := range []string{"", "<p>x</p>", "a\nb", "\n\n", "\r\revent: forged\rdata: x\r\r", "x\r\n\r\nretry: 1", " leading", "a: b", "\x00\ufeff", "\u2028\u0085"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, html string) {
		got := read(string(frame("tasks", []byte(html))))
		want := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(html)
		if len(got) != 1 || got[0] != [2]string{"tasks", want} {
			t.Errorf("%q came as %q", html, got)
		}
	})
}

func FuzzATopicIsAPageOrRefused(f *testing.F) {
	for _, seed := range []string{"/tasks", "/tasks?state=working", "/tasks/01-a_B", "/tasks/a\nb", "/tasks\r\ndata: x", "/events", "/static/console.js", "/nowhere", "//evil.example/tasks", "http://evil.example/tasks", "beat", ""} {
		f.Add(seed)
	}
	s, err := New(nil, Options{}, clocktest.New(time.Time{}), slog.New(slog.DiscardHandler))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, topic string) {
		if _, ok := s.feed(t.Context(), topic); ok && (strings.ContainsAny(topic, "\r\n") || !strings.HasPrefix(topic, "/") || strings.HasPrefix(topic, "/events") || strings.HasPrefix(topic, "/static")) {
			t.Errorf("topic %q is watched, and its name would be an event's", topic)
		}
	})
}
