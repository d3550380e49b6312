package web

import (
	"bytes"
	"context"
	"errors"
	"regexp"
	"strings"
	"time"

	"github.com/a-h/templ"

	"sabha.dev/services/console/internal/live"
	"sabha.dev/services/console/internal/oversight"
	"sabha.dev/services/console/internal/page"
	"sabha.dev/services/console/internal/request"
)

// Topics are "tasks", "tasks.STATE" and "task.ID".
const (
	listTopic = "tasks"
	taskTopic = "task."
)

// taskID is what an id may look like as part of a topic.
var taskID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,128}$`)

// readWithin bounds the reading of a page.
const readWithin = 5 * time.Second

func topicOfList(s request.State) string {
	if s == "" {
		return listTopic
	}
	return listTopic + "." + string(s)
}

// readList reads the page of a list. The error is oversight.ErrBadPage; that the
// planner cannot be reached is a page too.
func (s *Site) readList(ctx context.Context, state request.State, after string) (page.List, error) {
	ctx, cancel := context.WithTimeout(ctx, readWithin)
	defer cancel()
	p, err := s.source.List(ctx, state, after)
	if errors.Is(err, oversight.ErrBadPage) {
		return page.List{}, err
	}
	l := page.List{Page: p, State: state, Older: after != "", Unread: err != nil}
	if !l.Older {
		l.Topic = topicOfList(state)
	}
	return l, nil
}

// readDetail reads the page of a task.
func (s *Site) readDetail(ctx context.Context, id string) page.Detail {
	ctx, cancel := context.WithTimeout(ctx, readWithin)
	defer cancel()
	d := page.Detail{ID: id}
	if !taskID.MatchString(id) {
		d.Absent = true
		return d
	}
	d.Topic = taskTopic + id
	var err error
	d.Task, d.Hops, d.Missing, err = s.source.Task(ctx, id)
	d.Now = s.clock.Now()
	d.Absent, d.Unread = errors.Is(err, oversight.ErrNoTask), err != nil && !errors.Is(err, oversight.ErrNoTask)
	return d
}

// feed renders a topic again and again. While the planner cannot be reached, it
// shows what was read last, and since when.
func (s *Site) feed(topic string) (live.Feed, bool) {
	if id, ok := strings.CutPrefix(topic, taskTopic); ok && taskID.MatchString(id) {
		var last *page.Detail
		var read time.Time
		return func(ctx context.Context) []byte {
			d := s.readDetail(ctx, id)
			switch {
			case !d.Unread:
				last, read = &d, s.clock.Now()
			case last != nil:
				d = *last
				d.Stale = read
			}
			return s.fragment(ctx, page.DetailFragment(d))
		}, true
	}
	var state request.State
	if topic != listTopic {
		name, ok := strings.CutPrefix(topic, listTopic+".")
		if state, ok = stateOf(name, ok); !ok {
			return nil, false
		}
	}
	var last *page.List
	var read time.Time
	return func(ctx context.Context) []byte {
		l, err := s.readList(ctx, state, "")
		switch {
		case err == nil && !l.Unread:
			last, read = &l, s.clock.Now()
		case last != nil:
			l = *last
			l.Stale = read
		}
		return s.fragment(ctx, page.ListFragment(l))
	}, true
}

func stateOf(name string, ok bool) (request.State, bool) {
	if !ok {
		return "", false
	}
	return request.ParseState(name)
}

// fragment renders what changes of a page; nil when it cannot.
func (s *Site) fragment(ctx context.Context, c templ.Component) []byte {
	var b bytes.Buffer
	// A deadline that has passed has been told on the page; it must not keep it from being rendered.
	if err := c.Render(context.WithoutCancel(ctx), &b); err != nil {
		s.log.Error("fragment was not rendered", "error", err)
		return nil
	}
	return b.Bytes()
}
