package taskstore

import (
	"context"
	"errors"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"sabha.dev/chassis/agent"
)

// searchWords reads requests one after the other, the newest first, until it has a
// page or has read as many as one page is worth.
func (s *Store) searchWords(ctx context.Context, q Search) (*Page, error) {
	var st statement
	st.add("SELECT c.id, tasks.body FROM (")
	q.candidates(&st, read)
	st.add(") c JOIN tasks ON tasks.id = c.id ORDER BY c.id DESC")
	var found []string
	var last string
	n := 0
	err := s.rows(ctx, &st, func(row scanner) error {
		if len(found) == q.Limit {
			return errEnough
		}
		var body []byte
		if err := row.Scan(&last, &body); err != nil {
			return err
		}
		n++
		if containsAll(strings.ToLower(requestOf(body)), q.Words) {
			found = append(found, last)
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return nil, err
	}
	page := &Page{}
	if errors.Is(err, errEnough) || n == read {
		page.Next = last
	} else if page.Next, err = s.walkedTo(ctx, q); err != nil {
		return nil, err
	}
	page.Tasks, err = s.records(ctx, found)
	return page, err
}

// errEnough ends the reading of rows.
var errEnough = errors.New("enough")

func containsAll(text string, words []string) bool {
	for _, w := range words {
		if !strings.Contains(text, w) {
			return false
		}
	}
	return true
}

// historyField is the number of lf.a2a.v1.Task.history.
var historyField = (&a2apb.Task{}).ProtoReflect().Descriptor().Fields().ByName("history").Number()

// requestOf is the text of the first message of a stored task, without reading the
// rest of it; empty when there is none.
func requestOf(body []byte) string {
	for len(body) > 0 {
		number, kind, n := protowire.ConsumeTag(body)
		if n < 0 {
			return ""
		}
		body = body[n:]
		if number == historyField && kind == protowire.BytesType {
			raw, n := protowire.ConsumeBytes(body)
			m := &a2apb.Message{}
			if n < 0 || proto.Unmarshal(raw, m) != nil {
				return ""
			}
			return agent.TextOf(m.GetParts())
		}
		if n = protowire.ConsumeFieldValue(number, kind, body); n < 0 {
			return ""
		}
		body = body[n:]
	}
	return ""
}
