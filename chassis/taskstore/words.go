package taskstore

import (
	"context"
	"database/sql"
	"iter"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// searchWords reads requests one after the other, the newest first, until it has a
// page or has read as many as one page is worth.
func (s *Store) searchWords(ctx context.Context, q Search) (*Page, error) {
	ids, err := s.selected(ctx, &q, read)
	if err != nil {
		return nil, err
	}
	page := &Page{}
	var found []string
	for portion := range slices.Chunk(ids, portion) {
		with, err := s.containing(ctx, portion, q.Words)
		if err != nil {
			return nil, err
		}
		found = append(found, with...)
		if len(found) >= q.Limit {
			break
		}
	}
	found = found[:min(len(found), q.Limit)]
	switch {
	case len(found) == q.Limit && found[q.Limit-1] != ids[len(ids)-1]:
		page.Next = found[q.Limit-1]
	case len(ids) == read:
		page.Next = ids[read-1]
	default:
		if page.Next, err = s.walkedTo(ctx, q); err != nil {
			return nil, err
		}
	}
	page.Tasks, err = s.records(ctx, found)
	return page, err
}

// containing gives those of some tasks whose requests contain all words, in the
// order of their ids here. Rows are asked for by their ids, and few at a time: for
// more of them PostgreSQL prefers to read the whole table.
func (s *Store) containing(ctx context.Context, ids, words []string) ([]string, error) {
	var st statement
	st.add("SELECT id, body FROM tasks")
	st.where("WHERE", []Condition{among(ids)})
	with := map[string]bool{}
	var body sql.RawBytes
	err := s.rows(ctx, &st, func(row scanner) error {
		var id string
		if err := row.Scan(&id, &body); err != nil {
			return err
		}
		if containsAll(strings.ToLower(requestOf(body)), words) {
			with[id] = true
		}
		return nil
	})
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return !with[id] }), err
}

func containsAll(text string, words []string) bool {
	for _, w := range words {
		if !strings.Contains(text, w) {
			return false
		}
	}
	return true
}

// The numbers of lf.a2a.v1.Task.history, Message.parts and Part.text.
var (
	historyField = number(&a2apb.Task{}, "history")
	partsField   = number(&a2apb.Message{}, "parts")
	textField    = number(&a2apb.Part{}, "text")
)

func number(m proto.Message, field protoreflect.Name) protowire.Number {
	return m.ProtoReflect().Descriptor().Fields().ByName(field).Number()
}

// requestOf is the text of the first message of a stored task, its parts joined by
// newlines; empty when there is none. Nothing else of the task is decoded.
func requestOf(body []byte) string {
	var text []byte
	for message := range fields(body, historyField) {
		for part := range fields(message, partsField) {
			for t := range fields(part, textField) {
				if len(text) > 0 {
					text = append(text, '\n')
				}
				text = append(text, t...)
			}
		}
		break
	}
	return string(text)
}

// fields gives what a message in protobuf's encoding holds under a number of a field
// of text, bytes or messages. It ends at what is no such encoding.
func fields(message []byte, number protowire.Number) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for len(message) > 0 {
			at, kind, n := protowire.ConsumeTag(message)
			if n < 0 {
				return
			}
			size := protowire.ConsumeFieldValue(at, kind, message[n:])
			if size < 0 {
				return
			}
			if at == number && kind == protowire.BytesType {
				value, _ := protowire.ConsumeBytes(message[n:])
				if !yield(value) {
					return
				}
			}
			message = message[n+size:]
		}
	}
}
