package taskstore

import (
	"strconv"
	"strings"
)

// statement is SQL that is put together with its arguments. Each ? in what is added
// stands for one of them.
type statement struct {
	text strings.Builder
	args []any
}

func (s *statement) add(sql string, args ...any) {
	for {
		before, after, found := strings.Cut(sql, "?")
		s.text.WriteString(before)
		if !found {
			return
		}
		s.args = append(s.args, args[0])
		args = args[1:]
		s.text.WriteString("$" + strconv.Itoa(len(s.args)))
		sql = after
	}
}

// where adds conditions, joined by AND, behind a word; nothing without conditions.
func (s *statement) where(word string, conds []Condition) {
	for _, c := range conds {
		s.add(" "+word+" "+c.SQL, c.Args...)
		word = "AND"
	}
}

// Condition is a piece of SQL with a ? for each of its arguments.
type Condition struct {
	SQL  string
	Args []any
}
