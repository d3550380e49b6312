package web

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"sabha.dev/services/console/internal/live"
	"sabha.dev/services/console/internal/page"
	"sabha.dev/services/console/internal/person"
)

// readWithin bounds the reading of a page.
const readWithin = 5 * time.Second

// maxTopic bounds the address of a page that is kept up to date, bytes.
const maxTopic = 2000

// screen registers a page: show reads it. The page is kept up to date by reading
// it again, so its address with its query is the name of its topic.
func (s *Site) screen(pattern string, show func(*http.Request) page.View) {
	s.screens.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), readWithin)
		defer cancel()
		v := show(r.WithContext(ctx))
		if c, ok := w.(*capture); ok {
			c.view, c.ok = v, true
			return
		}
		s.show(w, r, v)
	})
}

// show answers with a page, or with what changes of it when that alone is asked for.
func (s *Site) show(w http.ResponseWriter, r *http.Request, v page.View) {
	if v.Elsewhere != "" {
		http.Redirect(w, r, v.Elsewhere, http.StatusSeeOther)
		return
	}
	topic := ""
	if !v.Still && r.Method == http.MethodGet && len(r.URL.RequestURI()) <= maxTopic {
		topic = r.URL.RequestURI()
	}
	status := v.Status
	switch {
	case status == 0 && v.Unread != "" && v.Body == nil:
		status = http.StatusServiceUnavailable
	case status == 0:
		status = http.StatusOK
	}
	if r.Header.Get("Sabha-Part") == "live" {
		s.write(w, r, status, page.Live(topic, v, time.Time{}))
		return
	}
	f := s.frame(w, r)
	f.Topic = topic
	s.write(w, r, status, page.Page(f, v))
}

// frame is what the page of a request has around it.
func (s *Site) frame(w http.ResponseWriter, r *http.Request) page.Frame {
	f := page.Frame{Links: s.links, Toast: takeToast(w, r), Bare: true}
	if p, ok := person.Of(r.Context()); ok {
		f.Bare, f.Person = false, &p
	}
	if c, err := r.Cookie(themeCookie); err == nil && (c.Value == "light" || c.Value == "dark") {
		f.Theme = c.Value
	}
	return f
}

// capture takes the view of a screen instead of writing it.
type capture struct {
	view page.View
	ok   bool
}

func (*capture) Header() http.Header         { return http.Header{} }
func (*capture) Write(b []byte) (int, error) { return len(b), nil }
func (*capture) WriteHeader(int)             {}

// feed reads the page of an address again and again. While what it shows cannot
// be read, it gives what was read last, and since when.
func (s *Site) feed(ctx context.Context, topic string) (live.Feed, bool) {
	if len(topic) > maxTopic || !strings.HasPrefix(topic, "/") || strings.ContainsAny(topic, "\r\n") {
		return nil, false
	}
	u, err := url.ParseRequestURI(topic)
	if err != nil || u.Host != "" {
		return nil, false
	}
	r := (&http.Request{Method: http.MethodGet, URL: u, Header: http.Header{}, RequestURI: topic}).WithContext(ctx)
	if _, pattern := s.screens.Handler(r); pattern == "" || pattern == "GET /" || pattern == "GET /events" || strings.HasPrefix(pattern, "GET /static/") {
		return nil, false
	}
	var last page.View
	var read time.Time
	return func(ctx context.Context) ([]byte, []string) {
		c := &capture{}
		s.screens.ServeHTTP(c, r.WithContext(ctx))
		if !c.ok {
			return nil, nil
		}
		v, stale := c.view, time.Time{}
		switch {
		case v.Unread == "":
			last, read = v, s.clock.Now()
		case last.Body != nil:
			unread := v.Unread
			v, stale = last, read
			v.Unread = unread
		}
		var b bytes.Buffer
		// A deadline that has passed has been told on the page; it must not keep it from being rendered.
		if err := page.Live(topic, v, stale).Render(context.WithoutCancel(ctx), &b); err != nil {
			s.log.Error("fragment was not rendered", "topic", topic, "error", err)
			return nil, nil
		}
		return b.Bytes(), v.Wakes
	}, true
}

// viewerOf names who looks at pages: what one person sees is not shown to another.
// The grant says it, and what the person may do. Forms carry the token of a session,
// so sessions are told apart too.
func viewerOf(r *http.Request) string {
	p, _ := person.Of(r.Context())
	return p.Grant + " " + p.Session
}
