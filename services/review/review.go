// Package review is the persona that makes people an agent: a review is a task
// delegated to it, and it ends when somebody has decided.
package review

import (
	"context"
	"errors"
	"time"

	"google.golang.org/grpc"

	"sabha.dev/chassis/engine"
	"sabha.dev/chassis/eventlog"
	"sabha.dev/chassis/identity"
	"sabha.dev/chassis/service"
	reviewv1 "sabha.dev/gen/sabha/review/v1"
	"sabha.dev/services/review/internal/a2aagent"
	"sabha.dev/services/review/internal/desk"
	"sabha.dev/services/review/internal/discussion"
	"sabha.dev/services/review/internal/item"
	"sabha.dev/services/review/internal/notice"
	"sabha.dev/services/review/internal/policy"
	"sabha.dev/services/review/internal/roster"
	"sabha.dev/services/review/internal/sqlstore"
	"sabha.dev/services/review/migrations"
)

// Name is the service's name on the platform, and its tenant.
const Name = "review"

// Config is what the review agent is told.
type Config struct {
	service.Config `yaml:",inline"`
	// Policy is the file that says which group decides on what and until when; empty
	// for one queue that every reviewer serves.
	Policy string `yaml:"policy"`
	// Mail says how mail about reviews is sent; without a server none is.
	Mail notice.MailConfig `yaml:"mail"`
	// Console is the base URL of the console, for links in mail and chats.
	Console string `yaml:"console"`
}

// New defines the service. The policy file is read when the service is built, so a
// fault in it fails the start with its line.
func New(c Config) service.Definition {
	return service.Definition{
		Name: Name, Config: c.Config, Migrations: migrations.Files,
		Build: func(ctx context.Context, b *service.Base) (*service.Persona, error) {
			return build(ctx, c, b)
		},
	}
}

func build(ctx context.Context, c Config, b *service.Base) (*service.Persona, error) {
	rules, err := policy.Open(c.Policy, b.Clock, b.Log)
	if err != nil {
		return nil, err
	}
	items := sqlstore.New(b.DB)
	counts, err := a2aagent.NewCounts(b.Metrics())
	if err := errors.Join(err, rules.Register(b.Metrics()), items.Register(b.Metrics(), b.Clock)); err != nil {
		return nil, err
	}
	sender, err := notice.New(notice.Config{
		DB: b.DB, NATS: b.NATS, Items: items, Policy: recipients{rules}, Mail: c.Mail, Allow: c.Push.Allow, Console: c.Console,
		Clock: b.Clock, Log: b.Log, Metrics: b.Metrics(),
	})
	if err != nil {
		return nil, err
	}
	items.Told = sender.Told
	tasks := &tasks{}
	people := desk.New(desk.Config{
		Items: items, Tasks: tasks, Queues: queues{rules}, People: roster.New(b.DB, b.Clock), Clock: b.Clock, Log: b.Log,
	})
	discussions := eventlog.NewChanges(b.NATS, Name, "discussions")
	board := discussion.NewBoard(b.DB, b.Clock, discussions.Tell)
	a := a2aagent.New(items, rules, b.Clock, counts, b.Release, board.Skill())
	a.Route = discussion.Route
	sending, stop := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		sender.Run(sending)
	}()
	return &service.Persona{
		Agent: a,
		Close: func() error { stop(); <-ended; return nil },
		Engine: func(e *engine.Engine) {
			tasks.Engine = e
			board.Serve(e.Store)
		},
		Services: func(s grpc.ServiceRegistrar) {
			reviewv1.RegisterReviewServiceServer(s, people)
			reviewv1.RegisterDiscussionServiceServer(s, &discussion.RPC{Board: board})
			reviewv1.RegisterAccountServiceServer(s, desk.Accounts{Desk: people})
		},
		Watches: map[string]func() (*eventlog.Watcher, error){"items": sender.Watch, "discussions": discussions.Watch},
		Policy:  edges(reviewv1.ReviewService_ServiceDesc, reviewv1.DiscussionService_ServiceDesc, reviewv1.AccountService_ServiceDesc),
	}, nil
}

// tasks are those of the engine, which is made after the persona.
type tasks struct{ *engine.Engine }

// edges says that only the platform's edges call a service: they know the people.
func edges(services ...grpc.ServiceDesc) identity.Policy {
	p, rule := identity.Policy{}, identity.Rule{Actors: []string{identity.Gateway, identity.Console}}
	for _, s := range services {
		for _, m := range s.Methods {
			p["/"+s.ServiceName+"/"+m.MethodName] = rule
		}
	}
	return p
}

// queues are those of the policy in force.
type queues struct{ rules *policy.File }

// Queues lists them in the order of the file.
func (q queues) Queues() []item.Queue {
	var all []item.Queue
	for _, x := range q.rules.Current().Queues {
		all = append(all, item.Queue{Name: x.Name, Title: x.Title, Groups: x.Groups})
	}
	return all
}

// Version names the policy in force.
func (q queues) Version() string { return q.rules.Current().Version }

// recipients are those of the policy in force.
type recipients struct{ rules *policy.File }

// Recipients of a queue.
func (r recipients) Recipients(queue string) notice.Recipients {
	q := r.rules.Current().Queue(queue)
	if q == nil {
		return notice.Recipients{Title: queue, Zone: time.UTC}
	}
	return notice.Recipients{Mail: q.Notify.Mail, Chat: q.Notify.Chat, Title: q.Title, Zone: q.Calendar.Zone()}
}

// WarnAt is when people are told that an item will be due.
func (r recipients) WarnAt(t item.Terms) time.Time { return policy.WarnAt(t) }
