package gateway_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	oldpb "github.com/a2aproject/a2a-go/a2apb"

	"sabha.dev/chassis/certs"
	"sabha.dev/services/gateway"
	"sabha.dev/services/gateway/internal/clientcerts"
)

// partnerCA issues certificates to the callers of a partner.
type partnerCA struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	file string
}

func newPartnerCA(t *testing.T, name string) *partnerCA {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(48 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign, SubjectKeyId: []byte(name),
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(raw)
	if err != nil {
		t.Fatal(err)
	}
	ca := &partnerCA{cert: cert, key: key, file: filepath.Join(t.TempDir(), "ca.pem")}
	ca.write(t, ca.file, "CERTIFICATE", raw)
	return ca
}

func (ca *partnerCA) write(t *testing.T, file, kind string, raw []byte) {
	t.Helper()
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: raw}), 0o600); err != nil {
		t.Fatal(err)
	}
}

// issue makes a client's certificate; change may alter it.
func (ca *partnerCA) issue(t *testing.T, serial int64, name string, change ...func(*x509.Certificate)) *tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: name, Organization: []string{"acme"}}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	for _, c := range change {
		c(template)
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, ca.cert, &key.PublicKey, ca.key)
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key}
}

// revoke writes the list of revoked certificates.
func (ca *partnerCA) revoke(t *testing.T, file string, number int64, serials ...int64) {
	t.Helper()
	list := &x509.RevocationList{Number: big.NewInt(number), ThisUpdate: time.Now().Add(-time.Minute), NextUpdate: time.Now().Add(time.Hour)}
	for _, s := range serials {
		list.RevokedCertificateEntries = append(list.RevokedCertificateEntries, x509.RevocationListEntry{SerialNumber: big.NewInt(s), RevocationTime: time.Now()})
	}
	raw, err := x509.CreateRevocationList(rand.Reader, list, ca.cert, ca.key)
	if err != nil {
		t.Fatal(err)
	}
	ca.write(t, file, "X509 CRL", raw)
}

// startTLS starts a gateway whose public ports speak TLS.
func startTLS(t *testing.T, change func(*gateway.Config)) *rig {
	t.Helper()
	dir := t.TempDir()
	if _, err := certs.Issue(dir, certs.Order{Services: []string{"gateway"}, Lifetime: time.Hour}, time.Now()); err != nil {
		t.Fatal(err)
	}
	r := start(t, withKAP, func(c *gateway.Config) { c.PublicTLS = filepath.Join(dir, "gateway") }, change)
	raw, err := os.ReadFile(filepath.Join(dir, "ca.crt"))
	if err != nil {
		t.Fatal(err)
	}
	r.authority = x509.NewCertPool()
	r.authority.AppendCertsFromPEM(raw)
	return r
}

// as makes all further calls with a certificate; nil for none.
func (r *rig) as(t *testing.T, c *tls.Certificate) {
	t.Helper()
	config := &tls.Config{RootCAs: r.authority, MinVersion: tls.VersionTLS12}
	if c != nil { // whether or not the server names its authority
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return c, nil }
	}
	transport := &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true}
	t.Cleanup(transport.CloseIdleConnections)
	r.web = &http.Client{Transport: transport}
	conn, err := grpc.NewClient(r.GRPCAddr(), grpc.WithTransportCredentials(credentials.NewTLS(config)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	r.conn = conn
}

func TestCallersAreKnownByTheirCertificates(t *testing.T) {
	acme, evil := newPartnerCA(t, "Acme CA"), newPartnerCA(t, "Evil CA")
	list := filepath.Join(t.TempDir(), "acme.crl")
	acme.revoke(t, list, 1)
	r := startTLS(t, func(c *gateway.Config) {
		c.ClientCertificates = []clientcerts.Config{{Authorities: acme.file, Revoked: list, Organisations: []string{"acme", "acme-uk"}, Organisation: "o"}}
	})
	agent := acme.issue(t, 7, "agent-7")
	key := "X-API-Key: " + r.newKey(t, "-subject", "asha", "-organisation", "acme")
	known := "acme/agent-7 [] by gateway with [a2a-version]"
	refused := func(says string) answer {
		return answer{reason: "UNAUTHENTICATED", said: "the client certificate is refused: " + says}
	}
	for _, c := range []struct {
		name    string
		by      *tls.Certificate
		headers []string
		skill   string
		want    answer
	}{
		{"nobody", nil, nil, "", answer{text: " [] by gateway"}},
		{"a certificate", agent, nil, "", answer{text: known}},
		{"a task", agent, nil, "work", answer{text: "done for acme/agent-7"}},
		{"beside an API key, which counts", agent, []string{key}, "", answer{text: "acme/asha []"}},
		{"beside a key that is not known", agent, []string{"X-API-Key: sk-" + strings.Repeat("0", 64)}, "", answer{reason: "UNAUTHENTICATED", said: "the API key is not known"}},
		{"of another authority", evil.issue(t, 7, "agent-7"), nil, "", refused("no authority that is trusted here has issued it for clients")},
		{"for servers", acme.issue(t, 8, "agent-7", func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth} }), nil, "", refused("no authority")},
		{"that has ended", acme.issue(t, 9, "agent-7", func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) }), nil, "", refused("it is valid from ")},
		{"of an organisation that is not listed", acme.issue(t, 10, "agent-7", func(c *x509.Certificate) { c.Subject.Organization = []string{"globex"} }), nil, "", refused(`its authority does not speak for the organisation "globex" here`)},
		{"of two organisations", acme.issue(t, 11, "agent-7", func(c *x509.Certificate) { c.Subject.Organization = []string{"acme", "acme-uk"} }), nil, "", refused("it must have one organisation, and has 2")},
		{"with a name that is none", acme.issue(t, 12, "acme/agent 7"), nil, "", refused("it has no name of a caller")},
	} {
		r.as(t, c.by)
		for _, binding := range bindings {
			got := r.send(t, binding, request{skill: c.skill, headers: c.headers})
			if !strings.HasPrefix(got.text, c.want.text) || got.reason != c.want.reason || !strings.HasPrefix(got.said, c.want.said) {
				t.Errorf("%s over %s: %+v, want %+v", c.name, binding, got, c.want)
			}
			if binding != "grpc" && got.http == 401 && kinds(got.header) != "Bearer, Basic, ApiKey, ClientCertificate" {
				t.Errorf("%s over %s: challenges of %q", c.name, binding, kinds(got.header))
			}
		}
	}

	r.as(t, agent)
	if a := r.kap(t, "", kapAsk("r1", "tell", "x", 1000)); !strings.HasPrefix(a.Output, "acme/agent-7 ") {
		t.Errorf("over KAP: %+v", a)
	}
	// By the gRPC of A2A 0.3, which is translated and called again within.
	old, err := oldpb.NewA2AServiceClient(r.conn).SendMessage(oldContext(t), oldRequest(t, oldProto("g1", "work", helloPart)))
	if err != nil || !strings.Contains(old.String(), "done for acme/agent-7") {
		t.Errorf("over gRPC of 0.3: %v %v", old, err)
	}

	// Who is on the list is refused from then on, on connections that are open too.
	acme.revoke(t, list, 2, 7)
	later := time.Now().Add(time.Minute)
	if err := os.Chtimes(list, later, later); err != nil {
		t.Fatal(err)
	}
	r.clock.Advance(time.Second)
	for _, binding := range bindings {
		if got := r.send(t, binding, request{}); got.reason != "UNAUTHENTICATED" || got.said != "the client certificate is refused: it was revoked" {
			t.Errorf("revoked, over %s: %+v", binding, got)
		}
	}
	r.as(t, acme.issue(t, 13, "agent-8"))
	if got := r.send(t, "rest", request{}); !strings.HasPrefix(got.text, "acme/agent-8 ") {
		t.Errorf("another, over REST: %+v", got)
	}
}

func TestWhatACertificateCallsItsHolder(t *testing.T) {
	ca := newPartnerCA(t, "CA")
	named := func(c *x509.Certificate) {
		c.Subject.OrganizationalUnit, c.DNSNames, c.EmailAddresses = []string{"acme-uk"}, []string{"agent.acme.example"}, []string{"agent@acme.example"}
	}
	for name, c := range map[string]struct {
		config clientcerts.Config
		change func(*x509.Certificate)
		want   string
	}{
		"dns":           {clientcerts.Config{Organisations: []string{"acme"}, Subject: "dns"}, named, "acme/agent.acme.example"},
		"email":         {clientcerts.Config{Organisations: []string{"acme"}, Subject: "email"}, named, "acme/agent@acme.example"},
		"ou":            {clientcerts.Config{Organisations: []string{"acme", "acme-uk"}, Organisation: "ou"}, named, "acme-uk/agent-7"},
		"two dns names": {clientcerts.Config{Organisations: []string{"acme"}, Subject: "dns"}, func(c *x509.Certificate) { c.DNSNames = []string{"a", "b"} }, ""},
		"no mail":       {clientcerts.Config{Organisations: []string{"acme"}, Subject: "email"}, func(*x509.Certificate) {}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c.config.Authorities = ca.file
			r := startTLS(t, func(g *gateway.Config) { g.ClientCertificates = []clientcerts.Config{c.config} })
			r.as(t, ca.issue(t, 7, "agent-7", c.change))
			got := r.send(t, "rest", request{})
			if (c.want == "") != (got.reason == "UNAUTHENTICATED") || !strings.HasPrefix(got.text, c.want) {
				t.Errorf("%+v, want %q", got, c.want)
			}
		})
	}
}

func TestConfigurationsOfCertificatesThatCannotBeMeant(t *testing.T) {
	good := clientcerts.Config{Authorities: "ca.pem", Organisations: []string{"acme"}}
	for name, c := range map[string]struct {
		config gateway.Config
		says   string
	}{
		"plain text":        {gateway.Config{ClientCertificates: []clientcerts.Config{good}}, "client_certificates: clients show them to public ports that serve TLS"},
		"no authority":      {gateway.Config{ClientCertificates: []clientcerts.Config{{Organisations: []string{"acme"}}}}, "client_certificates[0].authorities is missing"},
		"no organisation":   {gateway.Config{ClientCertificates: []clientcerts.Config{{Authorities: "x"}}}, "client_certificates[0].organisations is missing"},
		"which of them":     {gateway.Config{ClientCertificates: []clientcerts.Config{good, {Authorities: "x", Organisations: []string{"a", "b"}}}}, "client_certificates[1].organisation is missing"},
		"an odd name":       {gateway.Config{ClientCertificates: []clientcerts.Config{{Authorities: "x", Organisations: []string{"a/b"}}}}, `"a/b" is no name`},
		"an odd subject":    {gateway.Config{ClientCertificates: []clientcerts.Config{{Authorities: "x", Organisations: []string{"a"}, Subject: "uri"}}}, `subject: "uri" must be`},
		"an odd name field": {gateway.Config{ClientCertificates: []clientcerts.Config{{Authorities: "x", Organisations: []string{"a"}, Organisation: "c"}}}, `organisation: "c" must be`},
	} {
		if err := c.config.Check(); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
	}
}
