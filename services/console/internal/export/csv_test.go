package export_test

import (
	"bytes"
	"encoding/csv"
	"strings"
	"testing"

	"sabha.dev/services/console/internal/export"
)

func TestFormulasAreText(t *testing.T) {
	for cell, want := range map[string]string{
		"": "", "leave": "leave", "a=b": "a=b", "=1+1": "'=1+1", "+1": "'+1", "-1": "'-1", "@SUM(A1)": "'@SUM(A1)", "\t=1": "'\t=1", "\r=1": "'\r=1",
		" =1": "' =1", "\u00a0=1": "'\u00a0=1", "＝1": "'＝1", "'=1": "'=1",
	} {
		if got := export.Inert(cell); got != want {
			t.Errorf("%q became %q, want %q", cell, got, want)
		}
	}
}

func FuzzWhatIsWrittenIsReadTheSame(f *testing.F) {
	f.Add("a", "=b", "c\r\n\"d\",")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		var out bytes.Buffer
		if err := export.CSV(&out, [][]string{{"first", "second", "third"}, {a, b, c}}); err != nil {
			t.Fatal(err)
		}
		rows, err := csv.NewReader(&out).ReadAll()
		if err != nil || len(rows) != 2 {
			t.Fatalf("%v %v", rows, err)
		}
		for i, cell := range []string{a, b, c} {
			// The reader makes every end of line \n (RFC 4180 has one only).
			want := strings.ReplaceAll(export.Inert(cell), "\r\n", "\n")
			got := strings.ReplaceAll(rows[1][i], "\r\n", "\n")
			if strings.ReplaceAll(got, "\r", "") != strings.ReplaceAll(want, "\r", "") {
				t.Errorf("%q came back as %q", cell, rows[1][i])
			}
		}
	})
}
