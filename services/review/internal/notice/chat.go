package notice

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"sabha.dev/chassis/egress"
)

// postWithin bounds one post to a chat.
const postWithin = 10 * time.Second

// chats posts to webhooks of chats: a POST of {"text": …}, as Slack, Mattermost,
// Rocket.Chat and many others take it. Only addresses that egress permits are called.
type chats struct {
	guard *egress.Guard
	*egress.Poster
}

func newChats(allow []string) (*chats, error) {
	guard, err := egress.New(allow)
	if err != nil {
		return nil, fmt.Errorf("push.allow: %w", err)
	}
	return &chats{guard, guard.Poster(postWithin, 1)}, nil
}

// post posts to the URL that a file holds. Errors never hold the URL, which is a secret.
func (c *chats) post(file string, l letter) error {
	raw, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	address := strings.TrimSpace(string(raw))
	if err := c.guard.CheckURL(address); err != nil {
		return fmt.Errorf("the URL in %s %w", file, err)
	}
	body, err := json.Marshal(map[string]string{"text": escape(strings.Join(append([]string{l.subject}, l.lines...), "\n"))})
	if err != nil {
		return err
	}
	answer, err := c.Post(address, http.Header{"Content-Type": {"application/json"}, "User-Agent": {"Sabha"}}, body)
	if err != nil {
		return err
	}
	if answer.Status > 299 {
		return fmt.Errorf("the chat answered with status %d", answer.Status)
	}
	return nil
}

// escape keeps titles from being links, mentions or markup of a chat.
func escape(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "@", "@\u200b").Replace(text)
}
