package sensitive_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"sabha.dev/chassis/sensitive"
)

// mixture has something of each kind, in several writings, with what looks like it.
const mixture = `Dear Ms Müller, call +44 (0)20 7946 0958 or (212) 555-0123 — 電話：０３−１２３４−５６７８.
Card 4111 1111 1111 1111 and 3782-822463-10005; IBAN: DE89 3704 0044 0532 0130 00, gb29nwbk60161331926819
john.smith@example.com, jane at example dot org, jörg [at] müller.de x%40y.example
SSN 123-45-6789, DNI 12.345.678-Z, RSSMRA85T10A562S, 1 84 12 76 451 089 46, AB 12 34 56 C
password=hunter22&x=1 my password is Tr0ub4dor&3. {"password": "correct horse", "salary": 52000, "dob":"1980-01-01"}
<dob>1980-01-01</dob><salary>50,000</salary> Date of birth: 12 March 1980. He earns £52,000 a year.
AKIAIOSFODNN7EXAMPLE Authorization: Bearer abcdef1234567890ABCDEF ghp_0123456789abcdefghijABCDEFGHIJ012345
postgres://admin:s3cr3t@db.internal:5432/x 10.1.2.3 192.168.0.0/16 fd12:3456:789a::1 fe80::1%eth0 ip-10-0-0-1.ec2.internal
-----BEGIN RSA PRIVATE KEY-----
MIIEowIBAAKCAQEAxyz0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQ
-----END RSA PRIVATE KEY-----
eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U
Version 10.2.3.4, 550e8400-e29b-41d4-a716-446655440000, ISBN 978-0-306-40615-7, 2024-11-30 19:00:48, 51.5074, -0.1278
name,email,phone,ssn
Ann Lee,ann@example.net,2125550123,219099998
First name: Anna van der Berg, Address: 12 High Street, London
`

func inPieces(text string, size func() int) []sensitive.Finding {
	s := sensitive.NewScanner()
	var found []sensitive.Finding
	for len(text) > 0 {
		n := min(max(size(), 1), len(text))
		settled := s.Settled()
		more := s.Write([]byte(text[:n]))
		for _, f := range more {
			if f.Start < settled {
				panic(fmt.Sprintf("%+v begins before what was settled, %d", f, settled))
			}
		}
		found = append(found, more...)
		text = text[n:]
	}
	return append(found, s.Close()...)
}

func same(a, b []sensitive.Finding) string {
	for i := range max(len(a), len(b)) {
		switch {
		case i >= len(a):
			return fmt.Sprintf("more: %+v", b[i])
		case i >= len(b):
			return fmt.Sprintf("missing: %+v", a[i])
		case a[i] != b[i]:
			return fmt.Sprintf("%+v instead of %+v", b[i], a[i])
		}
	}
	return ""
}

func TestChunksDoNotChangeWhatIsFound(t *testing.T) {
	whole := sensitive.Text(mixture)
	if len(whole) < 35 {
		t.Fatalf("only %d findings: %+v", len(whole), whole)
	}
	for size := 1; size < 200; size++ {
		if diff := same(whole, inPieces(mixture, func() int { return size })); diff != "" {
			t.Fatalf("in pieces of %d: %s", size, diff)
		}
	}
	for cut := range mixture { // every place that begins a character
		first := true
		got := inPieces(mixture, func() int {
			if first {
				first = false
				return cut
			}
			return len(mixture)
		})
		if diff := same(whole, got); diff != "" {
			t.Fatalf("cut at %d: %s", cut, diff)
		}
	}
}

func TestLongStreamsFindWhatShortOnesDo(t *testing.T) {
	long := strings.Repeat(mixture, 60) // several blocks
	whole := sensitive.Text(long)
	r := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		if diff := same(whole, inPieces(long, func() int { return r.IntN(5000) })); diff != "" {
			t.Fatal(diff)
		}
	}
	if one := sensitive.Text(mixture); len(whole) < 59*len(one) {
		t.Errorf("%d findings in %d, %d in one", len(whole), 60, len(one))
	}
}

func FuzzChunks(f *testing.F) {
	f.Add(mixture, 7)
	for line := range strings.Lines(mixture) {
		f.Add(line, 3)
	}
	f.Fuzz(func(t *testing.T, text string, size int) {
		if size <= 0 || size > 1000 {
			size = 1
		}
		whole := sensitive.Text(text)
		last := int64(0)
		for _, x := range whole {
			if x.Start < last || x.End <= x.Start || x.End > int64(len(text)) {
				t.Fatalf("%+v after %d in %d bytes", x, last, len(text))
			}
			last = x.End
		}
		if diff := same(whole, inPieces(text, func() int { return size })); diff != "" {
			t.Fatal(diff)
		}
	})
}
