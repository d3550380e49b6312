package executor

import (
	"encoding/json"
	"time"

	"sabha.dev/chassis/service"
	"sabha.dev/services/executor/internal/sqlstore"
)

// notice is what is published when something happens to a tool.
type notice struct {
	Server string    `json:"server"`
	Tool   string    `json:"tool"`
	What   string    `json:"what"`
	By     string    `json:"by"`
	At     time.Time `json:"at"`
	Digest string    `json:"digest"`
	Note   string    `json:"note,omitempty"`
}

// tell publishes on sabha.tools.SERVER.WHAT what has happened to a tool. It is a notice for
// who listens: the record is the tool's history.
func tell(b *service.Base) func(sqlstore.Entry) {
	return func(e sqlstore.Entry) {
		b.Log.Info("tool of an MCP server", "tool", e.Server+"/"+e.Tool, "what", e.What, "by", e.By, "digest", e.Digest)
		if b.NATS == nil {
			return
		}
		body, err := json.Marshal(notice{e.Server, e.Tool, e.What, e.By, e.At, e.Digest, e.Note})
		if err == nil {
			err = b.NATS.Publish("sabha.tools."+e.Server+"."+e.What, body)
		}
		if err != nil {
			b.Log.Warn("what has happened to a tool is not told", "tool", e.Server+"/"+e.Tool, "error", err)
		}
	}
}
