package clientcerts

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
)

// files are what the files of a configuration hold.
type files struct {
	all  *x509.CertPool
	each []authority
}

// authority is one entry of a configuration with what its files hold.
type authority struct {
	Config
	pool    *x509.CertPool
	revoked []*x509.RevocationList
}

// look describes the files without reading them.
func look(configs []Config) string {
	var seen string
	for _, c := range configs {
		for _, name := range []string{c.Authorities, c.Revoked} {
			if info, err := os.Stat(name); err == nil {
				seen += fmt.Sprintf("%d %d;", info.ModTime().UnixNano(), info.Size())
				continue
			}
			seen += "missing;"
		}
	}
	return seen
}

func readFiles(configs []Config) (*files, error) {
	f := &files{all: x509.NewCertPool()}
	for i, c := range configs {
		raw, err := os.ReadFile(c.Authorities)
		if err != nil {
			return nil, fmt.Errorf("client_certificates[%d].authorities: %w", i, err)
		}
		a := authority{Config: c, pool: x509.NewCertPool()}
		if !a.pool.AppendCertsFromPEM(raw) {
			return nil, fmt.Errorf("client_certificates[%d].authorities: %s holds no certificate (PEM)", i, c.Authorities)
		}
		f.all.AppendCertsFromPEM(raw)
		if c.Revoked != "" {
			if a.revoked, err = readLists(c.Revoked); err != nil {
				return nil, fmt.Errorf("client_certificates[%d].revoked: %w", i, err)
			}
		}
		f.each = append(f.each, a)
	}
	return f, nil
}

// readLists reads lists of revoked certificates: one in DER, or any number in PEM.
func readLists(file string) ([]*x509.RevocationList, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var lists []*x509.RevocationList
	add := func(der []byte) error {
		l, err := x509.ParseRevocationList(der)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		lists = append(lists, l)
		return nil
	}
	if !bytes.Contains(raw, []byte("-----BEGIN ")) {
		return lists, add(raw)
	}
	for block, rest := pem.Decode(raw); block != nil; block, rest = pem.Decode(rest) {
		if block.Type == "X509 CRL" {
			if err := add(block.Bytes); err != nil {
				return nil, err
			}
		}
	}
	if len(lists) == 0 {
		return nil, fmt.Errorf("%s holds no list of revoked certificates (CRL)", file)
	}
	return lists, nil
}

// revokes tells whether a certificate of a chain that ends at an authority is on a
// list that its issuer has signed.
func (c authority) revokes(chain []*x509.Certificate) bool {
	for i, one := range chain[:len(chain)-1] {
		for _, l := range c.revoked {
			if !bytes.Equal(l.RawIssuer, one.RawIssuer) || l.CheckSignatureFrom(chain[i+1]) != nil {
				continue
			}
			for _, r := range l.RevokedCertificateEntries {
				if r.SerialNumber.Cmp(one.SerialNumber) == 0 {
					return true
				}
			}
		}
	}
	return false
}
