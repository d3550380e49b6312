package disclosure_test

import (
	"strings"
	"testing"

	"sabha.dev/chassis/label"
)

const told = "Dear Anna, your card 4111 1111 1111 1111 and IBAN DE89 3704 0044 0532 0130 00 are with us. Mail anna@example.com or call +44 20 7946 0958.\n" +
	"-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7\n-----END PRIVATE KEY-----\nYours"

func TestPiecesLeaveAsTheWholeDoes(t *testing.T) {
	p := policy(t, "default: mask")
	want := "Dear Anna, your card **** **** **** 1111 and IBAN DE** **** **** **** **30 00 are with us. Mail a***[at]***.com or call +** ** **** **58.\n[masked:secret]\nYours"
	for size := 1; size < len(told); size++ {
		s := p.Stream(underwriter, label.Labels{})
		var out strings.Builder
		for at := 0; at < len(told); at += size {
			piece, err := s.Write(told[at:min(at+size, len(told))])
			if err != nil {
				t.Fatal(err)
			}
			out.WriteString(piece)
		}
		rest, err := s.Close()
		if err != nil {
			t.Fatal(err)
		}
		if got := out.String() + rest; got != want {
			t.Fatalf("in pieces of %d:\n%s\nwant\n%s", size, got, want)
		}
		if len(s.Findings()) != 5 {
			t.Fatalf("%+v", s.Findings())
		}
	}
}

func TestPlainWordsAreNotHeldBack(t *testing.T) {
	s := policy(t, "default: mask").Stream(underwriter, label.Labels{})
	held := 0
	for range 2000 {
		out, err := s.Write("some words of an answer ")
		if err != nil {
			t.Fatal(err)
		}
		held += len("some words of an answer ") - len(out)
		if held > 64 {
			t.Fatalf("%d bytes are held", held)
		}
	}
}

func TestARefusedStreamEnds(t *testing.T) {
	s := policy(t, "default: refuse").Stream(underwriter, label.Labels{})
	text := "so far so good, now anna@example.com and more"
	out, err := s.Write(text)
	if err == nil || strings.Contains(out, "anna") || !strings.Contains(err.Error(), "email in part 1 bytes 20-36") {
		t.Errorf("%q, %v", out, err)
	}
	if out, err := s.Write("more"); err == nil || out != "" {
		t.Errorf("%q, %v", out, err)
	}
	s = policy(t, "default: mask").Stream(underwriter, label.Labels{Confidentiality: label.Sensitive, Classes: []string{"health"}})
	if out, err := s.Write("x"); err == nil || out != "" || !strings.Contains(err.Error(), "its label calls it health") {
		t.Errorf("%q, %v", out, err)
	}
}

func TestTokensOfAStreamAreResolved(t *testing.T) {
	s := policy(t, "default: tokenise").Stream(underwriter, label.Labels{})
	out, err := s.Write(told)
	rest, err2 := s.Close()
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	if got, classes := s.Tokens().Text(out + rest); got != told || len(classes) != 5 {
		t.Errorf("%s %v", got, classes)
	}
}
