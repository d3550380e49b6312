package strictyaml

import (
	"fmt"
	"unicode/utf8"
)

// DidYouMean offers the nearest known name, as ` (did you mean "due"?)`, when it is
// near enough to be a slip of the fingers; empty otherwise.
func DidYouMean(name string, known []string) string {
	if len(name) > 40 {
		return ""
	}
	best, distance := "", 3
	for _, k := range known {
		if d := edits(name, k); d < distance && d < len(k) {
			best, distance = k, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %q?)", best)
}

// edits counts the insertions, deletions and replacements of bytes that turn a into b.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// Clip shortens text from a file for a message.
func Clip(s string) string {
	const most = 60
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most]) + "…"
}
