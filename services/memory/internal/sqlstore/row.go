package sqlstore

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"sabha.dev/services/memory/internal/memory"
)

// columns are what scan reads.
const columns = `id, context, kind, body, tags, labels, created_at, expires_at, superseded_by, details`

// details are what only some kinds have, as JSON.
type details struct {
	Fact    *memory.Fact     `json:"fact,omitempty"`
	Episode *memory.Episode  `json:"episode,omitempty"`
	Told    []memory.Telling `json:"told,omitempty"`
}

func encode(m memory.Memory) (labels, extra string, err error) {
	l, err := json.Marshal(m.Labels)
	if err != nil {
		return "", "", err
	}
	d, err := json.Marshal(details{m.Fact, m.Episode, m.Told})
	return string(l), string(d), err
}

// scan reads memories of an owner and closes the rows.
func scan(rows *sql.Rows, owner string) ([]memory.Memory, error) {
	defer func() { _ = rows.Close() }()
	var list []memory.Memory
	for rows.Next() {
		m := memory.Memory{Owner: owner}
		var tags, labels, extra string
		var created, expires int64
		if err := rows.Scan(&m.ID, &m.Context, &m.Kind, &m.Text, &tags, &labels, &created, &expires, &m.SupersededBy, &extra); err != nil {
			return nil, err
		}
		var d details
		if err := errors.Join(json.Unmarshal([]byte(tags), &m.Tags), json.Unmarshal([]byte(labels), &m.Labels), json.Unmarshal([]byte(extra), &d)); err != nil {
			return nil, fmt.Errorf("memory %s: %w", m.ID, err)
		}
		m.Fact, m.Episode, m.Told = d.Fact, d.Episode, d.Told
		m.CreatedAt, m.ExpiresAt = moment(created), moment(expires)
		list = append(list, m)
	}
	return list, rows.Err()
}
