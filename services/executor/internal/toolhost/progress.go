package toolhost

import (
	"strconv"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Progress is what a tool says of its work. Message is the server's own word.
type Progress struct {
	Message     string
	Done, Total float64 // Total is 0 where it is not known
}

// progress finds the call that a notification is about.
type progress struct {
	listening sync.Mutex
	newest    uint64
	by        map[string]func(Progress)
}

// listen gives a token for a call.
func (p *progress) listen(f func(Progress)) (token string, forget func()) {
	p.listening.Lock()
	defer p.listening.Unlock()
	if p.by == nil {
		p.by = map[string]func(Progress){}
	}
	p.newest++
	token = strconv.FormatUint(p.newest, 10)
	p.by[token] = f
	return token, func() {
		p.listening.Lock()
		defer p.listening.Unlock()
		delete(p.by, token)
	}
}

// maxWords bounds what a notification says, bytes.
const maxWords = 500

// hear tells a call of its progress. What belongs to none is for nobody.
func (p *progress) hear(n *mcp.ProgressNotificationParams) {
	token, _ := n.ProgressToken.(string)
	p.listening.Lock()
	f := p.by[token]
	p.listening.Unlock()
	if f != nil {
		f(Progress{Message: clip(n.Message, maxWords), Done: n.Progress, Total: n.Total})
	}
}
