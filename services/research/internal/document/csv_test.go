package document

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// spans writes each block with the bytes of src that it stands for.
func spans(d *Document, src string) string {
	var b strings.Builder
	d.Sections(func(path []string, s *Section) {
		for _, block := range s.Blocks {
			fmt.Fprintf(&b, "%q <- %q\n", block.Text, src[block.Start:block.End])
		}
	})
	return b.String()
}

func TestRowsAreTextWithTheirColumnsAndBytes(t *testing.T) {
	cases := []struct{ name, file, src, want string }{
		{
			"quotes, blank lines, empty, missing and further fields", "a.csv",
			"\ufeffCity,Country,\r\n\"Paris\",\"France, \nEurope\"\r\n\r\n,Japan,x,y\r\n,,\r\nRome\n",
			`"City: Paris; Country: France, Europe" <- "\"Paris\",\"France, \nEurope\""` + "\n" +
				`"Country: Japan; column 3: x; column 4: y" <- ",Japan,x,y"` + "\n" + `"City: Rome" <- "Rome"` + "\n",
		},
		{"semicolons", "a.CSV", "\"a,b,c\";d\n1,5;2\n", `"a,b,c: 1,5; d: 2" <- "1,5;2"` + "\n"},
		{"tabs by name", "a.tsv", "a,b\tc\nx\ty\n", `"a,b: x; c: y" <- "x\ty"` + "\n"},
		{"two columns of one name", "a.csv", "a,a\n1,2\n", `"a: 1; column 2: 2" <- "1,2"` + "\n"},
	}
	for _, c := range cases {
		d, err := Parse(c.file, []byte(c.src))
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		verify(t, d, []byte(c.src))
		if got := spans(d, c.src); got != c.want {
			t.Errorf("%s: got\n%swant\n%s", c.name, got, c.want)
		}
	}
}

func TestCSVNamesWhatIsWrong(t *testing.T) {
	cases := []struct {
		src, says string
		want      error
	}{
		{"a,b\n1,\"2\n3,4\n", "a.csv: not valid CSV: the row that begins on line 2: a quoted field is not closed, or text follows its closing quote", ErrCSV},
		{"a,b\n1,x\"2\n", "a.csv: not valid CSV: the row that begins on line 2: a quote inside a field that is not quoted", ErrCSV},
		{strings.Repeat(",", maxColumns), "a.csv: not valid CSV: a row has more than 4096 fields", ErrCSV},
		{"a,b\n", "a.csv: no text in it", ErrNoText},
		{"a\n\xff", "a.csv: not valid UTF-8; convert it to UTF-8", ErrEncoding},
		{strings.Repeat("h", 1<<20) + "\n" + strings.Repeat("x\n", 100), "a.csv: its text is more than 32 MiB; split it", ErrExpands},
	}
	for _, c := range cases {
		_, err := Parse("a.csv", []byte(c.src))
		if !errors.Is(err, c.want) || err.Error() != c.says {
			t.Errorf("%.20q: got %v, want %s", c.src, err, c.says)
		}
	}
}

func TestFilesThatAreNotWhatTheirNameSays(t *testing.T) {
	for src, says := range map[string]string{
		"PK\x03\x04\x00":                   "it is a ZIP archive (as DOCX, XLSX and ODT are)",
		"%PDF-1.7\n":                       "it is a PDF file",
		"\x89PNG\r\n\x1a\n":                "it is a PNG image",
		"\x1f\x8b\x08":                     "it is a gzip file",
		"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": "it is an old or encrypted Office file; save it as DOCX without a password",
	} {
		for _, name := range []string{"a.csv", "a.txt", "a.md", "a.html"} {
			_, err := Parse(name, []byte(src))
			if !errors.Is(err, ErrMislabelled) || err.Error() != name+": not what its name says: "+says {
				t.Errorf("%s %q: %v", name, src, err)
			}
		}
	}
	_, err := Parse("a.csv", []byte("\xff\xfea\x00"))
	if !errors.Is(err, ErrEncoding) || !strings.HasSuffix(err.Error(), "(it is UTF-16)") {
		t.Errorf("UTF-16: %v", err)
	}
}

func FuzzCSV(f *testing.F) {
	f.Add("a,b\n1,\"x\ny\"\n", false)
	f.Add("\ufeffa;b\r\n\r\n1;2\r\n", false)
	f.Add("a\tb\n\"\"\"\"\t\n", true)
	f.Fuzz(func(t *testing.T, src string, tabs bool) {
		name := "a.csv"
		if tabs {
			name = "a.tsv"
		}
		d, err := Parse(name, []byte(src))
		if err != nil {
			return
		}
		verify(t, d, []byte(src))
	})
}
