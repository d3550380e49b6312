// Package partners is the persona that speaks with agents of other organisations: it
// knows them, and every call to one leaves through it.
package partners

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/url"
	"sync"
	"time"

	"google.golang.org/grpc"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/egress"
	"sabha.dev/chassis/eventlog"
	"sabha.dev/chassis/identity"
	"sabha.dev/chassis/service"
	partnersv1 "sabha.dev/gen/sabha/partners/v1"
	"sabha.dev/services/partners/internal/attainment"
	"sabha.dev/services/partners/internal/crossing"
	"sabha.dev/services/partners/internal/desk"
	"sabha.dev/services/partners/internal/finder"
	"sabha.dev/services/partners/internal/notice"
	"sabha.dev/services/partners/internal/registry"
	"sabha.dev/services/partners/internal/remote"
	"sabha.dev/services/partners/internal/sqlstore"
	"sabha.dev/services/partners/internal/telling"
	"sabha.dev/services/partners/migrations"
)

// Name is the service's name on the platform, and its tenant.
const Name = "partners"

// Config is what partners is told.
type Config struct {
	service.Config `yaml:",inline"`
	// Agreements is the folder of operating agreements, one file a partner; empty for none.
	Agreements string `yaml:"agreements"`
	// Reports is the folder that the report of each month is written to; empty: none is.
	Reports string `yaml:"reports"`
	// Contracts is the folder of golden tasks, one file a partner; empty for none.
	Contracts string `yaml:"contracts"`
	// Callback is the gateway's URL as partners reach it to notify us of their tasks, for
	// example https://agents.example.com; empty: they are not asked to.
	Callback string `yaml:"callback"`
	// Identity is who we say that we are where a protocol asks.
	Identity Identity `yaml:"identity"`
	// Networks are open for partners beside public ones, as CIDRs; agreements open more for
	// one partner.
	Networks []string `yaml:"networks"`
	// Refresh is how often cards are read again; 0 means an hour. Probe is how often listed
	// partners are asked whether they are there; 0 means a minute.
	Refresh time.Duration `yaml:"refresh"`
	Probe   time.Duration `yaml:"probe"`
}

// Identity is how the platform names itself to partners: "from" of KAP.
type Identity struct {
	// ID and Name of the agent; sabha and Sabha when empty.
	ID   string `yaml:"id"`
	Name string `yaml:"name"`
	// Organisation that runs the platform.
	Organisation string `yaml:"organisation"`
}

func (i Identity) shown() remote.Identity {
	return remote.Identity{ID: cmp.Or(i.ID, "sabha"), Name: cmp.Or(i.Name, "Sabha"), Organisation: i.Organisation}
}

const (
	defaultRefresh = time.Hour
	defaultProbe   = time.Minute
	// minEvery is how often a partner may be asked at most: others' machines are not ours.
	minEvery = time.Second
)

// check says what is wrong with the keys that are not those of every service.
func (c Config) check() error {
	var errs []error
	if _, err := egress.New(c.Networks); err != nil {
		errs = append(errs, fmt.Errorf("networks: %w", err))
	}
	for _, f := range []struct {
		name  string
		value time.Duration
	}{{"refresh", c.Refresh}, {"probe", c.Probe}} {
		if f.value != 0 && f.value < minEvery {
			errs = append(errs, fmt.Errorf("%s is %s; it must be at least %s", f.name, f.value, minEvery))
		}
	}
	if u, err := url.Parse(c.Callback); c.Callback != "" && (err != nil || (u.Scheme != "https" && u.Scheme != "http") || u.Hostname() == "" || u.RawQuery != "" || u.Fragment != "") {
		errs = append(errs, fmt.Errorf("callback: %q must be http:// or https:// with a host, without query and fragment", c.Callback))
	}
	return errors.Join(errs...)
}

// New defines the service.
func New(c Config) service.Definition {
	return service.Definition{
		Name: Name, Config: c.Config, Migrations: migrations.Files,
		Build: func(ctx context.Context, b *service.Base) (*service.Persona, error) { return build(ctx, c, b) },
	}
}

func build(ctx context.Context, c Config, b *service.Base) (_ *service.Persona, err error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	changes := eventlog.NewChanges(b.NATS, Name, "partners")
	store := sqlstore.New(b.DB, b.Clock)
	store.Tell = changes.Tell
	if err := store.Register(b.Metrics()); err != nil {
		return nil, err
	}
	edge, err := openEdge(ctx, c, b, changes.Tell)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			edge.close()
		}
	}()
	known, err := registry.New(registry.Config{
		Store: store, Networks: c.Networks, RefreshEvery: or(c.Refresh, defaultRefresh), ProbeEvery: or(c.Probe, defaultProbe),
		Rules: edge.rules, Wanted: edge.wanted, Probed: edge.desk.Ledger.Probed, Clock: b.Clock, Log: b.Log, Random: rand.Float64,
	})
	if err != nil {
		return nil, err
	}
	client := remote.New(remote.Config{Clock: b.Clock, Settings: edge.settings(c.Networks), Identity: c.Identity.shown()})
	calls, err := newCalls(ctx, c, b, edge, store, known, client)
	if err != nil {
		return nil, err
	}
	behaviour, err := newWatch(c.Contracts, b, changes.Tell, store, golden{edge.book, calls.border, client, b.DB})
	if err != nil {
		return nil, err
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	var jobs sync.WaitGroup
	for _, run := range []func(context.Context){known.Run, telling.New(store, b.NATS, b.Clock, b.Log).Run, behaviour.run} {
		jobs.Go(func() { run(running) })
	}
	return &service.Persona{
		Agent: agent.Agent{
			Tenant: Name, Name: "Partners", Version: b.Release,
			Description: "Agents of other organisations: finds them, and calls what the platform's agreement with each allows.",
			Skills:      []agent.Skill{finder.New(store)}, Lookup: calls.agent.Lookup, Extended: calls.agent.Extended,
		},
		Engine: calls.begin,
		Services: func(s grpc.ServiceRegistrar) {
			desk.Register(s, known)
			edge.serve(s)
			behaviour.register(s)
			partnersv1.RegisterNotificationServiceServer(s, calls.heard)
			partnersv1.RegisterCrossingServiceServer(s, &crossing.RPC{Ledger: calls.crossings})
		},
		Watches: map[string]func() (*eventlog.Watcher, error){"partners": changes.Watch},
		Policy:  policies(desk.Policy(), attainment.Policy(), behaviour.policy(), crossing.Policy(), notice.Policy()),
		Close: func() error {
			stop()
			jobs.Wait()
			known.Close()
			client.Close()
			edge.close()
			return nil
		},
	}, nil
}

// or is a duration, or another where it is none.
func or(d, other time.Duration) time.Duration {
	if d != 0 {
		return d
	}
	return other
}

// policies are all of several.
func policies(several ...identity.Policy) identity.Policy {
	all := identity.Policy{}
	for _, p := range several {
		maps.Copy(all, p)
	}
	return all
}
