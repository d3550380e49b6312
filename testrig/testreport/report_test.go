package main

import (
	"strings"
	"testing"
)

// events of the shape that `go test -json` writes.
const (
	passing = `{"Action":"start","Package":"p"}
{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestA","Output":"=== RUN   TestA\n"}
{"Action":"output","Package":"p","Test":"TestA","Output":"    a_test.go:9: chatter\n"}
{"Action":"pass","Package":"p","Test":"TestA","Elapsed":0.1}
{"Action":"output","Package":"p","Output":"PASS\n"}
{"Action":"pass","Package":"p","Elapsed":1.5}
`
	skipping = `{"Action":"output","Package":"q","Test":"TestPg","Output":"    q_test.go:7: left out: PostgreSQL is missing: install it\n"}
{"Action":"output","Package":"q","Test":"TestPg","Output":"--- SKIP: TestPg (0.00s)\n"}
{"Action":"skip","Package":"q","Test":"TestPg","Elapsed":0}
{"Action":"pass","Package":"q","Elapsed":0}
{"Action":"skip","Package":"without/tests","Elapsed":0}
`
	failing = `{"Action":"output","Package":"r","Test":"TestB","Output":"    b_test.go:3: got 1, want 2\n"}
{"Action":"output","Package":"r","Test":"TestB","Output":"--- FAIL: TestB (0.00s)\n"}
{"Action":"fail","Package":"r","Test":"TestB","Elapsed":0}
{"Action":"fail","Package":"r","Elapsed":0.2}
`
	panicking = `{"Action":"run","Package":"s","Test":"TestC"}
{"Action":"output","Package":"s","Test":"TestC","Output":"panic: test timed out after 1s\n"}
{"Action":"output","Package":"s","Output":"FAIL\ts\t1.0s\n"}
{"Action":"fail","Package":"s","Elapsed":1}
`
	broken = `{"ImportPath":"u [u.test]","Action":"build-output","Output":"u/u.go:1:1: undefined: x\n"}
{"ImportPath":"u [u.test]","Action":"build-fail"}
{"Action":"fail","Package":"u","Elapsed":0,"FailedBuild":"u [u.test]"}
`
)

func TestReport(t *testing.T) {
	for _, c := range []struct {
		name, events string
		well         bool
		want         string
	}{
		{"what passes is one line", passing, true, `
ok    p                                                          1.50s

1 packages: 1 tests passed, 0 left out, 0 failures
`},
		{"what is left out is named with its reason", skipping, true, `
ok    q                                                          0.00s

LEFT OUT: PostgreSQL is missing: install it
    q.TestPg

1 packages: 0 tests passed, 1 left out, 0 failures
`},
		{"what fails is shown", failing, false, `
    b_test.go:3: got 1, want 2
--- FAIL: TestB (0.00s)
FAIL  r                                                          0.20s

1 packages: 0 tests passed, 0 left out, 1 failures
`},
		{"what never ended is shown", panicking, false, `
FAIL	s	1.0s
--- UNFINISHED: TestC
panic: test timed out after 1s
FAIL  s                                                          1.00s

1 packages: 0 tests passed, 0 left out, 1 failures
`},
		{"what does not compile is shown", broken, false, `
u/u.go:1:1: undefined: x
FAIL  u                                                          0.00s

1 packages: 0 tests passed, 0 left out, 1 failures
`},
		{"other text is passed on, and nothing tested is not well", "go: no modules\n", false, `
go: no modules
no package was tested
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out strings.Builder
			r := newReport(&out)
			if err := r.read(strings.NewReader(c.events)); err != nil {
				t.Fatal(err)
			}
			well := r.summarise()
			if got := "\n" + out.String(); got != c.want || well != c.well {
				t.Errorf("well %v, want %v; printed:%s\nwant:%s", well, c.well, got, c.want)
			}
		})
	}
}

func FuzzRead(f *testing.F) {
	for _, seed := range []string{passing, skipping, failing, panicking, broken, "null\n", `{"Action":"fail"}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, events string) {
		r := newReport(&strings.Builder{})
		if err := r.read(strings.NewReader(events)); err != nil {
			t.Fatal(err)
		}
		r.summarise()
	})
}

func TestFailuresAreNamedForASecondRun(t *testing.T) {
	r := newReport(&strings.Builder{})
	sub := `{"Action":"fail","Package":"r","Test":"TestB/sub","Elapsed":0}` + "\n"
	if err := r.read(strings.NewReader(passing + sub + failing + panicking + broken)); err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	if err := r.failures(&got); err != nil {
		t.Fatal(err)
	}
	if want := "r\t^(TestB)$\ns\t.\nu\t\n"; got.String() != want {
		t.Errorf("failures are %q, want %q", got.String(), want)
	}
}
