package credential

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"

	"sabha.dev/chassis/clock"
)

// Credential shows a partner who we are. It is safe for concurrent use. A nil one shows
// nothing.
type Credential struct {
	config *Config
	secret file[string]
	pair   file[*tls.Certificate]
	roots  *x509.CertPool
	tokens *tokens
}

// Open makes a credential. client asks for tokens of OAuth2. A nil config shows nothing.
func Open(c *Config, client http.RoundTripper, clk clock.Clock) (*Credential, error) {
	if c == nil {
		c = &Config{Type: None}
	}
	k := &Credential{config: c}
	k.secret = file[string]{paths: []string{c.File}, read: func(text [][]byte) (string, error) {
		s := strings.TrimSpace(string(text[0]))
		if s == "" || strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return "", errors.New("it is empty, or has more than a line")
		}
		return s, nil
	}}
	k.pair = file[*tls.Certificate]{paths: []string{c.Certificate, c.Key}, read: func(text [][]byte) (*tls.Certificate, error) {
		pair, err := tls.X509KeyPair(text[0], text[1])
		return &pair, err
	}}
	if c.CA != "" {
		text, err := os.ReadFile(c.CA)
		if err != nil {
			return nil, unreadable(c.CA, err)
		}
		k.roots = x509.NewCertPool()
		if !k.roots.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("%s holds no certificate", c.CA)
		}
	}
	if c.Type == OAuth2 {
		k.tokens = &tokens{config: c, secret: &k.secret, client: client, clock: clk}
	}
	return k, nil
}

// TLS is the configuration of connections to the partner.
func (k *Credential) TLS() *tls.Config {
	t := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: k.roots}
	if k.config.Certificate != "" {
		t.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return k.pair.get() }
	}
	return t
}

// Shown is what was shown with a call.
type Shown struct{ token string }

// Show puts the credential into a request over HTTP.
func (k *Credential) Show(ctx context.Context, r *http.Request) (Shown, error) {
	if k.config.Type == APIKey && k.config.In == "query" {
		key, err := k.secret.get()
		if err != nil {
			return Shown{}, err
		}
		q := r.URL.Query()
		q.Set(k.config.Name, key)
		r.URL.RawQuery = q.Encode()
		return Shown{}, nil
	}
	name, value, s, err := k.header(ctx)
	if err == nil && name != "" {
		r.Header.Set(name, value)
	}
	return s, err
}

// Metadata is the credential for a call over gRPC: a key in small letters and its value,
// both empty where nothing is shown.
func (k *Credential) Metadata(ctx context.Context) (key, value string, _ Shown, _ error) {
	if k.config.Type == APIKey && k.config.In == "query" {
		return "", "", Shown{}, errors.New("an API key in the query cannot be sent over gRPC; the agreement should name a header")
	}
	key, value, s, err := k.header(ctx)
	return strings.ToLower(key), value, s, err
}

func (k *Credential) header(ctx context.Context) (name, value string, _ Shown, _ error) {
	if !k.config.Secret() {
		return "", "", Shown{}, nil
	}
	if k.config.Type == OAuth2 {
		token, err := k.tokens.get(ctx)
		return "Authorization", "Bearer " + token, Shown{token}, err
	}
	secret, err := k.secret.get()
	if err != nil {
		return "", "", Shown{}, err
	}
	switch k.config.Type {
	case APIKey:
		return k.config.Name, secret, Shown{}, nil
	case Basic:
		return "Authorization", "Basic " + base64.StdEncoding.EncodeToString([]byte(k.config.User+":"+secret)), Shown{}, nil
	default:
		return "Authorization", "Bearer " + secret, Shown{}, nil
	}
}

// Renew is told that the partner did not take what was shown. It tells whether there is
// something else to show: a token is fetched anew, once for all calls that had the same.
func (k *Credential) Renew(s Shown) bool {
	return k.tokens != nil && s.token != "" && k.tokens.drop(s.token)
}

// file is what one or more files hold. It is read again when one of them changes.
type file[T any] struct {
	paths []string
	read  func([][]byte) (T, error)

	mu    sync.Mutex
	known bool
	stamp []string
	value T
}

func (f *file[T]) get() (T, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var none T
	stamp := make([]string, len(f.paths))
	for i, p := range f.paths {
		info, err := os.Stat(p)
		if err != nil {
			return none, unreadable(p, err)
		}
		stamp[i] = fmt.Sprint(info.ModTime().UnixNano(), info.Size())
	}
	if f.known && strings.Join(stamp, " ") == strings.Join(f.stamp, " ") {
		return f.value, nil
	}
	text := make([][]byte, len(f.paths))
	for i, p := range f.paths {
		var err error
		if text[i], err = os.ReadFile(p); err != nil {
			return none, unreadable(p, err)
		}
	}
	v, err := f.read(text)
	if err != nil {
		// What is being replaced may be half there: the value before is used once more.
		if f.known {
			return f.value, nil
		}
		return none, fmt.Errorf("%s cannot be used: %w", strings.Join(f.paths, " with "), err)
	}
	f.known, f.stamp, f.value = true, stamp, v
	return v, nil
}

func unreadable(path string, err error) error {
	var e *os.PathError
	if errors.As(err, &e) {
		err = e.Err
	}
	return fmt.Errorf("%s cannot be read: %w", path, err)
}
