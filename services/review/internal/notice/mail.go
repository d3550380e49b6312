package notice

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"net/smtp"
	"os"
	"strings"
	"time"
)

// Ways to secure the connection to a mail server.
const (
	startTLS = "starttls"
	implicit = "tls"
	noTLS    = "none"
)

// MailConfig says how mail is sent.
type MailConfig struct {
	// Server with its port, for example smtp.example.com:587; empty: no mail is sent.
	Server string `yaml:"server"`
	// TLS is starttls (the default), tls for a port that begins with it, or none.
	TLS string `yaml:"tls"`
	// CA is a file of authorities (PEM) that are trusted instead of the system's.
	CA string `yaml:"ca"`
	// User signs in with what PasswordFile holds; empty: without signing in.
	User         string `yaml:"user"`
	PasswordFile string `yaml:"password_file"`
	// From is the sender, for example Reviews <reviews@example.com>.
	From string `yaml:"from"`
}

// sendWithin bounds the sending of one mail.
const sendWithin = 20 * time.Second

// mailer sends mail.
type mailer struct {
	MailConfig
	from *mail.Address
	host string
	tls  *tls.Config
}

// newMailer checks a configuration. Without a server it is nil.
func newMailer(c MailConfig) (*mailer, error) {
	if c.Server == "" {
		if c != (MailConfig{}) {
			return nil, errors.New("mail: server is missing; write it with its port, as smtp.example.com:587")
		}
		return nil, nil
	}
	m := &mailer{MailConfig: c}
	var err error
	if m.host, _, err = net.SplitHostPort(c.Server); err != nil || m.host == "" {
		return nil, fmt.Errorf("mail: server %q: write it with its port, as smtp.example.com:587", c.Server)
	}
	if m.from, err = mail.ParseAddress(c.From); err != nil {
		return nil, fmt.Errorf("mail: from %q: write an address, as Reviews <reviews@example.com>", c.From)
	}
	switch c.TLS {
	case "":
		m.TLS = startTLS
	case startTLS, implicit, noTLS:
	default:
		return nil, fmt.Errorf("mail: tls %q: write %s, %s or %s", c.TLS, startTLS, implicit, noTLS)
	}
	switch {
	case (c.User == "") != (c.PasswordFile == ""):
		return nil, errors.New("mail: user and password_file belong together")
	case c.User != "" && c.TLS == noTLS:
		return nil, errors.New("mail: a password is not sent without TLS; use starttls or tls")
	}
	m.tls = &tls.Config{ServerName: m.host, MinVersion: tls.VersionTLS12}
	if c.CA != "" {
		raw, err := os.ReadFile(c.CA)
		if err != nil {
			return nil, fmt.Errorf("mail: ca: %w", err)
		}
		m.tls.RootCAs = x509.NewCertPool()
		if !m.tls.RootCAs.AppendCertsFromPEM(raw) {
			return nil, fmt.Errorf("mail: ca %s holds no certificate (PEM)", c.CA)
		}
	}
	return m, nil
}

// send sends one mail to several people, who do not see one another. id is the same
// when the same mail is tried again, so that receivers can tell.
func (m *mailer) send(ctx context.Context, to []string, id string, l letter, now time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, sendWithin)
	defer cancel()
	c, err := m.connect(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	if m.User != "" {
		password, err := os.ReadFile(m.PasswordFile)
		if err != nil {
			return err
		}
		if err := c.Auth(smtp.PlainAuth("", m.User, strings.TrimSpace(string(password)), m.host)); err != nil {
			return fmt.Errorf("sign in: %w", err)
		}
	}
	if err := c.Mail(m.from.Address); err != nil {
		return fmt.Errorf("sender: %w", err)
	}
	for _, address := range to {
		if err := c.Rcpt(address); err != nil {
			return fmt.Errorf("recipient %s: %w", address, err)
		}
	}
	w, err := c.Data()
	if err != nil {
		return err
	}
	if _, err := w.Write(m.compose(id, l, now)); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	_ = c.Quit() // the mail is taken already
	return nil
}

func (m *mailer) connect(ctx context.Context) (*smtp.Client, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", m.Server)
	if err != nil {
		return nil, err
	}
	if end, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(end)
	}
	if m.TLS == implicit {
		conn = tls.Client(conn, m.tls)
	}
	c, err := smtp.NewClient(conn, m.host)
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	if m.TLS != startTLS {
		return c, nil
	}
	if ok, _ := c.Extension("STARTTLS"); !ok {
		_ = c.Close()
		return nil, errors.New("the server offers no STARTTLS")
	}
	if err := c.StartTLS(m.tls); err != nil {
		_ = c.Close()
		return nil, err
	}
	return c, nil
}

func (m *mailer) compose(id string, l letter, now time.Time) []byte {
	sum := sha256.Sum256([]byte(id))
	_, domain, _ := strings.Cut(m.from.Address, "@")
	var b bytes.Buffer
	for _, h := range [][2]string{
		{"From", m.from.String()},
		{"To", "undisclosed-recipients:;"},
		{"Subject", mime.QEncoding.Encode("utf-8", l.subject)},
		{"Date", now.Format(time.RFC1123Z)},
		{"Message-ID", "<" + hex.EncodeToString(sum[:16]) + "@" + domain + ">"},
		{"Auto-Submitted", "auto-generated"},
		{"MIME-Version", "1.0"},
		{"Content-Type", "text/plain; charset=utf-8"},
		{"Content-Transfer-Encoding", "quoted-printable"},
	} {
		b.WriteString(h[0] + ": " + h[1] + "\r\n")
	}
	b.WriteString("\r\n")
	w := quotedprintable.NewWriter(&b)
	_, _ = w.Write([]byte(strings.Join(l.lines, "\r\n") + "\r\n"))
	_ = w.Close()
	return b.Bytes()
}
