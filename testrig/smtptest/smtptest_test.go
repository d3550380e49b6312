package smtptest_test

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/smtp"
	"os"
	"testing"

	"sabha.dev/testrig/smtptest"
)

func TestAMailIsKeptAsItCame(t *testing.T) {
	s := smtptest.New(t, smtptest.Options{User: "sabha", Password: "secret"})
	pool := x509.NewCertPool()
	raw, err := os.ReadFile(s.CA)
	if err != nil || !pool.AppendCertsFromPEM(raw) {
		t.Fatal(err)
	}
	host, _, _ := net.SplitHostPort(s.Addr)
	send := func(password string) error {
		c, err := smtp.Dial(s.Addr)
		if err != nil {
			return err
		}
		defer func() { _ = c.Close() }()
		if err := c.StartTLS(&tls.Config{RootCAs: pool, ServerName: host}); err != nil {
			return err
		}
		if err := c.Auth(smtp.PlainAuth("", "sabha", password, host)); err != nil {
			return err
		}
		if err := c.Mail("a@x.example"); err != nil {
			return err
		}
		if err := c.Rcpt("b@x.example"); err != nil {
			return err
		}
		w, err := c.Data()
		if err != nil {
			return err
		}
		if _, err := w.Write([]byte("Subject: hello\r\n\r\n.dot\r\n")); err != nil {
			return err
		}
		return w.Close()
	}
	if err := send("wrong"); err == nil {
		t.Error("a wrong password is good")
	}
	s.Refuse(1)
	if err := send("secret"); err == nil {
		t.Error("the mail was to be refused")
	}
	if err := send("secret"); err != nil {
		t.Fatal(err)
	}
	m := s.Mails()
	if len(m) != 1 || m[0].From != "a@x.example" || m[0].To[0] != "b@x.example" || m[0].Header("Subject") != "hello" || m[0].Text() != ".dot\n" || m[0].User != "sabha" || !m[0].TLS {
		t.Errorf("mails %+v", m)
	}
}
