package server

import (
	"context"
	"encoding/json"
	"runtime"
	"strconv"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	natsserver "github.com/nats-io/nats-server/v2/server"

	"sabha.dev/chassis/agent"
)

// Stats are what a server process holds, after a garbage collection.
type Stats struct {
	Goroutines int `json:"goroutines"`
	// Bytes of the heap and of stacks in use.
	Bytes uint64 `json:"bytes"`
	// Consumers of JetStream, and subscriptions on the embedded NATS server.
	Consumers     int `json:"consumers"`
	Subscriptions int `json:"subscriptions"`
}

// statsSkill answers with the process's Stats. ns may be nil.
func statsSkill(ns *natsserver.Server) agent.Skill {
	return agent.Skill{ID: "stats", Anonymous: true, Answer: func(context.Context, *agent.Request) (*a2apb.Message, error) {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		s := Stats{Goroutines: runtime.NumGoroutine(), Bytes: m.HeapAlloc + m.StackInuse}
		if ns != nil {
			s.Subscriptions = int(ns.NumSubscriptions())
			if js, err := ns.Jsz(nil); err == nil {
				s.Consumers = js.Consumers
			}
		}
		raw, err := json.Marshal(s)
		return agent.Message(agent.Text(string(raw))), err
	}}
}

// tickSkill tells the time, in nanoseconds, as often as its message says:
// {"count": n, "every_ms": ms}, and waits for the first round until start_ms.
var tickSkill = agent.Skill{ID: "tick", Budget: time.Hour, Run: func(ctx context.Context, run agent.Run) (agent.Outcome, error) {
	in := agent.DataOf(run.Request().Message.GetParts()).GetStructValue().GetFields()
	pause := time.NewTimer(time.Until(time.UnixMilli(int64(in["start_ms"].GetNumberValue()))))
	defer pause.Stop()
	for range int(in["count"].GetNumberValue()) {
		select {
		case <-pause.C:
		case <-ctx.Done():
			return agent.Outcome{}, ctx.Err()
		}
		pause.Reset(time.Duration(in["every_ms"].GetNumberValue()) * time.Millisecond)
		if err := run.Working(agent.Message(agent.Text(strconv.FormatInt(time.Now().UnixNano(), 10)))); err != nil {
			return agent.Outcome{}, err
		}
	}
	return agent.Completed(), nil
}}

// askSkill waits for an answer that nobody gives.
var askSkill = agent.Skill{ID: "ask", Run: func(context.Context, agent.Run) (agent.Outcome, error) {
	return agent.InputRequired(agent.Text("what?")), nil
}}
