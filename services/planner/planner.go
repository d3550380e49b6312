// Package planner is the platform's front agent: it takes a request, chooses the
// playbook for it and has the other agents carry it out, each step a durable task.
package planner

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/engine"
	"sabha.dev/chassis/ext"
	"sabha.dev/chassis/identity"
	"sabha.dev/chassis/outlet"
	"sabha.dev/chassis/service"
	plannerv1 "sabha.dev/gen/sabha/planner/v1"
	"sabha.dev/playbooks"
	"sabha.dev/services/planner/internal/draft"
	"sabha.dev/services/planner/internal/plan"
	"sabha.dev/services/planner/internal/synthesis"
	"sabha.dev/services/planner/playbook"
)

// Name of the service and its tenant.
const Name = "planner"

//go:embed migrations/*.sql
var migrations embed.FS

// Config of the planner.
type Config struct {
	service.Config `yaml:",inline"`
	// Playbooks is a folder with playbooks beside the shipped ones; empty for none.
	Playbooks string `yaml:"playbooks"`
	// Agents are further agents and their skills that playbooks may name, beside the personas.
	Agents map[string][]string `yaml:"agents"`
	// Model that plans open requests and writes answers; without one the general playbook
	// takes them, and answers are quoted from the passages.
	Model Model `yaml:"model"`
}

// onLine is how long a step is waited for before its plan lets go of it.
const onLine = 30 * time.Second

// New defines the service. Nothing is started yet.
func New(c Config) service.Definition { return define(c, nil) }

func define(c Config, adjust func(*plan.Planner)) service.Definition {
	files, err := fs.Sub(migrations, "migrations")
	return service.Definition{
		Name: Name, Config: c.Config, Migrations: files,
		Build: func(ctx context.Context, b *service.Base) (*service.Persona, error) {
			if err != nil {
				return nil, err
			}
			return build(ctx, c, b, adjust)
		},
	}
}

func build(ctx context.Context, c Config, b *service.Base, adjust func(*plan.Planner)) (*service.Persona, error) {
	catalog := playbook.Personas()
	for name, skills := range c.Agents {
		catalog[name] = skills
	}
	installed, err := library(c.Playbooks, catalog)
	if err != nil {
		return nil, err
	}
	out, err := b.Outlets.Open("model", outlet.Model, c.Model.Disclosure)
	if err != nil {
		return nil, err
	}
	m, err := c.Model.open(out)
	if err != nil {
		return nil, err
	}
	drafter, err := c.Model.drafter(m, installed, catalog)
	if err != nil {
		return nil, err
	}
	rows, err := plan.OpenRows(ctx, b.DB)
	if err != nil {
		return nil, err
	}
	books := plan.OpenBooks(b.DB, installed)
	counts, err := plan.NewCounts(b.Metrics())
	if err != nil {
		return nil, err
	}
	p := &plan.Planner{
		Counts: counts,
		Rows:   rows, Books: books, General: playbooks.General, Synthesiser: synthesiser{synthesis.NewWriter(m)}, Drafter: drafter, Clock: b.Clock, Logger: b.Log, Random: rand.Float64,
		Peers: func(name string) (grpc.ClientConnInterface, error) { return b.Peer(name) }, OnLine: onLine,
	}
	if adjust != nil {
		adjust(p)
	}
	operations := &plan.Operations{Rows: rows, Books: books, Connected: func(name string) bool {
		_, err := b.Peer(name)
		return err == nil
	}}
	warn(b.Log, installed, operations.Connected)
	lookout := &plan.Lookout{Rows: rows, Peers: p.Peers, NATS: b.NATS, Clock: b.Clock, Logger: b.Log}
	return &service.Persona{
		Services: func(s grpc.ServiceRegistrar) { plannerv1.RegisterPlannerServiceServer(s, operations) }, Policy: plan.Policy(),
		Engine: func(e *engine.Engine) {
			operations.Engine, lookout.Nudge = e, e.Nudge
			e.Beside(lookout.Run)
		},
		Plans: plan.Facts, Agent: agent.Agent{
			Tenant: Name, Name: "Sabha", Version: b.Release,
			Description: "Answers questions and carries out requests with a team of agents. Each step is a durable task; the answer carries its sources and has been checked.",
			Skills: []agent.Skill{{
				ID: "plan-and-run", Name: "Plan and run",
				Description: "Takes a question or request as text, or the input of a playbook as data. Message metadata " + ext.Playbook + " names a playbook; without it one is chosen. " +
					"Progress comes as status updates whose metadata " + ext.Plan + " shows the steps; the answer is the artifact \"answer\".",
				Tags:        []string{"orchestration", "research", "question-answering"},
				Examples:    []string{"How is a finished task cancelled?"},
				Compensates: true, Run: p.Run, Check: p.Check, BudgetOf: p.Budget,
			}},
			Extensions: []*a2apb.AgentExtension{
				{Uri: ext.Playbook, Description: "Message metadata: the name of the playbook to run, or name@version."},
				{Uri: ext.Models, Description: "Task metadata: whether a language model drafted the plan, what it used and cost, and why the built-in plan was used instead."},
				{Uri: ext.Plan, Description: "Task and event metadata: the plan's playbook and its steps with their states, times and child tasks."},
			},
			Extended: func(_ context.Context, _ identity.Principal, card *a2apb.AgentCard) error {
				listPlaybooks(installed, card)
				return nil
			},
		},
	}, nil
}

// warn tells of playbooks that ask people where no review agent is connected: their
// plans would fail there.
func warn(log *slog.Logger, books *playbook.Library, connected func(string) bool) {
	if connected(playbook.ReviewAgent) {
		return
	}
	for _, name := range books.Names() {
		if book, ok := books.Latest(name); ok && slices.ContainsFunc(book.Steps, func(s *playbook.Step) bool { return s.Agent == playbook.ReviewAgent }) {
			log.Warn("a playbook asks people and no review agent is connected; its plans fail when they come to that step", "playbook", name)
		}
	}
}

// listPlaybooks shows callers who are known what they can ask for by name.
func listPlaybooks(books *playbook.Library, card *a2apb.AgentCard) {
	for _, name := range books.Names() {
		book, ok := books.Latest(name)
		if !ok {
			continue
		}
		card.Skills = append(card.Skills, &a2apb.AgentSkill{
			Id: "playbook:" + book.Name, Name: book.Name, Tags: []string{"playbook", "version " + string(book.Version), "risk " + string(book.Risk)},
			Description: fmt.Sprintf("%s Ask for it with message metadata %s = %q.", book.Description, ext.Playbook, book.Name),
		})
	}
}

// library reads the shipped playbooks and those of a folder. Every problem of
// every file is in the error.
func library(dir string, catalog playbook.Catalog) (*playbook.Library, error) {
	var books []*playbook.Playbook
	var errs []error
	add := func(name string, read func() ([]byte, error)) {
		raw, err := read()
		if err != nil {
			errs = append(errs, err)
			return
		}
		book, err := playbook.Parse(name, raw, catalog)
		if err == nil && book.Name == draft.Name {
			err = fmt.Errorf("%s: the name %q is that of the plans which models draft; choose another", name, draft.Name)
		}
		if err != nil {
			errs = append(errs, err)
			return
		}
		books = append(books, book)
	}
	shipped, err := fs.Glob(playbooks.Files, "*.yaml")
	if err != nil {
		return nil, err
	}
	for _, f := range shipped {
		add(path.Join("playbooks", f), func() ([]byte, error) { return playbooks.Files.ReadFile(f) })
	}
	if dir != "" {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return nil, fmt.Errorf("playbooks folder: %w", err)
		}
		for _, e := range entries {
			if ext := filepath.Ext(e.Name()); !e.IsDir() && (ext == ".yaml" || ext == ".yml") && !strings.HasPrefix(e.Name(), ".") {
				// Callers read this name when an expression fails: it tells them the file, not where the server has it.
				add(path.Join(filepath.Base(dir), e.Name()), func() ([]byte, error) { return os.ReadFile(filepath.Join(dir, e.Name())) })
			}
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return playbook.NewLibrary(books...)
}
