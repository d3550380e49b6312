// Package ledger is an agent that writes down every execution of a step in a file
// outside the platform, before its work begins.
package ledger

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"time"
)

// Entry is one execution.
type Entry struct {
	// Began is when the platform called the skill.
	Began time.Time
	PID   int
	Skill string
	// Phase is empty, or says which part of a skill that pauses ran.
	Phase string
	// Message is the id of the step's message: task/step/round/call, with /undo at the
	// end for a compensation.
	Message string
}

// Step tells which step of which task was executed, and whether to undo it.
func (e Entry) Step() (task, step string, undo bool) {
	f := strings.Split(e.Message, "/")
	if len(f) < 4 {
		return e.Message, "", false
	}
	return f[0], f[1], f[len(f)-1] == "undo"
}

// File takes entries from any number of processes.
type File struct {
	mu sync.Mutex
	f  *os.File
}

// Open opens the file, which is made when it is missing.
func Open(name string) (*File, error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY|os.O_SYNC, 0o600)
	if err != nil {
		return nil, err
	}
	return &File{f: f}, nil
}

// Append adds one line in one write.
func (l *File) Append(e Entry) error {
	phase := e.Phase
	if phase == "" {
		phase = "-"
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err := fmt.Fprintf(l.f, "%d %d %s %s %s\n", e.Began.UnixNano(), e.PID, e.Skill, phase, e.Message)
	return err
}

// Read reads the entries of a file; one that does not exist has none.
func Read(name string) ([]Entry, error) {
	raw, err := os.ReadFile(name)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var list []Entry
	for line := range strings.Lines(string(raw)) {
		var e Entry
		var nanos int64
		if _, err := fmt.Sscanf(line, "%d %d %s %s %s\n", &nanos, &e.PID, &e.Skill, &e.Phase, &e.Message); err != nil {
			return nil, fmt.Errorf("%s: %q: %w", name, line, err)
		}
		e.Began = time.Unix(0, nanos)
		e.Phase = strings.TrimPrefix(e.Phase, "-")
		list = append(list, e)
	}
	return list, nil
}
