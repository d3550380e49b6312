// Package export writes what is on a page as a file.
package export

import (
	"encoding/csv"
	"io"
	"strings"
)

// CSV writes rows as comma-separated values (RFC 4180). Cells that a spreadsheet
// would take for a formula begin with an apostrophe, which has them shown as text
// (OWASP, CSV injection).
func CSV(w io.Writer, rows [][]string) error {
	out := csv.NewWriter(w)
	out.UseCRLF = true
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, c := range row {
			cells[i] = Inert(c)
		}
		if err := out.Write(cells); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// Inert is a cell that no spreadsheet calculates.
func Inert(cell string) string {
	if strings.ContainsAny(first(strings.TrimLeft(cell, " \u00a0\u3000")), "=+-@\t\r\n＝＋－＠") {
		return "'" + cell
	}
	return cell
}

func first(s string) string {
	for _, r := range s {
		return string(r)
	}
	return ""
}
