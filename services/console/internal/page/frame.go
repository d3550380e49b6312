package page

import (
	"context"
	"slices"

	"github.com/a-h/templ"

	"sabha.dev/services/console/internal/person"
)

// Section is a place of the navigation.
type Section string

// The sections, in the order of the navigation.
const (
	Dashboard  Section = "dashboard"
	Tasks      Section = "tasks"
	Review     Section = "review"
	Questions  Section = "questions"
	Playbooks  Section = "playbooks"
	Agents     Section = "agents"
	Partners   Section = "partners"
	Playground Section = "playground"
)

// place is an entry of the navigation; key is what follows g on the keyboard.
type place struct {
	section          Section
	label, path, key string
	// overseers says that it shows the requests of everybody.
	overseers bool
}

var places = []place{
	{Dashboard, "Dashboard", "/", "d", true},
	{Tasks, "Tasks", "/tasks", "t", true},
	{Review, "Review", "/review", "r", false},
	{Questions, "Questions", "/questions", "q", false},
	{Playbooks, "Playbooks", "/playbooks", "p", true},
	{Agents, "Agents", "/agents", "a", true},
	{Partners, "Partners", "/partners", "n", true},
	{Playground, "Playground", "/playground", "y", true},
}

// View is the content of a page as it has been read.
type View struct {
	// Status of HTTP; 0 means 200.
	Status int
	// Title of the window, without the name of the product.
	Title   string
	Section Section
	Body    templ.Component
	// Unread names what could not be reached, so that there is nothing to show; empty
	// when everything was read. It is the subject of a sentence, such as "The planner".
	Unread string
	// Wakes are what changes the page, such as "tasks" or "task:ID": when one of them
	// happens it is read at once. It is read every second whatever happens.
	Wakes []string
	// Elsewhere is where who asked for the page is sent instead; empty for nowhere.
	Elsewhere string
	// Still says that the page is not kept up to date.
	Still bool
	// Wide gives the page the whole width of the window.
	Wide bool
}

// Tone is how a message is meant.
type Tone string

// The tones.
const (
	Good Tone = "good"
	Bad  Tone = "bad"
	Warn Tone = "warn"
)

// Toast is a short message about what has just been done.
type Toast struct {
	Tone Tone   `json:"tone"`
	Text string `json:"text"`
}

// Frame is what a page has around its content.
type Frame struct {
	Links Links
	// Person who looks; nil when nobody has signed in.
	Person *person.Person
	// Theme is light or dark; empty follows the system.
	Theme string
	// Topic under which the content is kept up to date; empty when it is not.
	Topic string
	Toast Toast
	// Bare pages have no navigation: signing in.
	Bare bool
}

// places are those that the person may see.
func (f Frame) places() []place {
	if f.Person == nil || f.Person.Oversees() {
		return places
	}
	return slices.DeleteFunc(slices.Clone(places), func(p place) bool { return p.overseers })
}

func (f Frame) title(v View) string { return v.Title + " · Sabha" }

// tokenOf is what forms of the person who looks carry.
func tokenOf(ctx context.Context) string {
	p, _ := person.Of(ctx)
	return p.CSRF
}
