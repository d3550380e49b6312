// Package cardtrust decides whether the signatures of a partner's card are believed: by
// which keys, of which algorithms, and whether a card may come without.
package cardtrust

import (
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-jose/go-jose/v4"

	"sabha.dev/chassis/cardsig"
	"sabha.dev/chassis/strictyaml"
)

// Mode says what a card has to have.
type Mode string

// The modes.
const (
	Off       Mode = "off"        // signatures are not looked at
	IfPresent Mode = "if-present" // a card may have none; one that has some needs a good one
	Required  Mode = "required"
)

// Policy is what is believed of the cards and of the notifications of one partner.
type Policy struct {
	// Mode is for cards, Push for notifications.
	Mode, Push Mode
	// Keys that are pinned.
	Keys cardsig.KeySet
	// JKU are the hosts, with a port where it is not 443, that keys may be fetched from; a
	// card's own word for where its keys are counts for nothing else.
	JKU []string
	// Algorithms that are believed; nil means [cardsig.Algorithms].
	Algorithms []jose.SignatureAlgorithm
}

// Default is the policy for a partner without an agreement: signatures are not needed,
// and those that are there have to be good by keys that the card's own host publishes.
func Default(cardURL string) Policy {
	p := Policy{Mode: IfPresent, Push: IfPresent}
	if u, err := url.Parse(cardURL); err == nil && u.Host != "" {
		p.JKU = []string{u.Host}
	}
	return p
}

// Bounds of what a file may say.
const (
	maxKeyFiles = 20
	maxHosts    = 20
	maxKeyFile  = 64 << 10 // bytes
)

// Parse reads the section signatures of an agreement; its key files are named from the
// folder of the agreement.
func Parse(n strictyaml.Node, folder string) Policy {
	var p Policy
	f, ok := n.Fields("mode", "push", "keys", "jku", "algorithms")
	if !ok {
		return p
	}
	if mode, ok := f.Need("mode"); ok {
		p.Mode = readMode(mode)
	}
	// Signatures that are not looked at on cards are not on notifications, unless that is said.
	if p.Push = IfPresent; p.Mode == Off {
		p.Push = Off
	}
	if push, ok := f.Get("push"); ok {
		p.Push = readMode(push)
	}
	if keys, ok := f.Get("keys"); ok {
		p.Keys = readKeys(keys, folder)
	}
	if hosts, ok := f.Get("jku"); ok {
		p.JKU = readHosts(hosts)
	}
	if list, ok := f.Get("algorithms"); ok {
		p.Algorithms = readAlgorithms(list)
	}
	if (p.Mode == Required || p.Push == Required) && len(p.Keys) == 0 && len(p.JKU) == 0 {
		n.Problem("signatures are required and nobody's are believed; name key files with keys, or hosts that publish them with jku")
	}
	return p
}

func readMode(n strictyaml.Node) Mode {
	m := Mode(n.Scalar())
	if m == "false" { // YAML reads a bare off as false.
		m = Off
	}
	if !slices.Contains([]Mode{Off, IfPresent, Required, ""}, m) {
		n.Problem("%q is unknown; write off, if-present or required", strictyaml.Clip(string(m)))
	}
	return m
}

func readKeys(n strictyaml.Node, folder string) cardsig.KeySet {
	set := cardsig.KeySet{}
	items := n.Items()
	if len(items) > maxKeyFiles {
		n.Problem("at most %d files", maxKeyFiles)
		return set
	}
	for _, item := range items {
		name := item.Text()
		if name == "" {
			continue
		}
		path := name
		if !filepath.IsAbs(path) {
			path = filepath.Join(folder, path)
		}
		found, err := ReadKeys(path)
		if err != nil {
			item.Problem("%v", err)
			continue
		}
		for id, k := range found {
			if _, twice := set[id]; twice {
				item.Problem("the key %q is in another file too; leave it in one", strictyaml.Clip(id))
			}
			set[id] = k
		}
	}
	return set
}

// ReadKeys reads public keys from a file: a JWKS, or a PEM file with one key, which
// signatures name by its thumbprint (RFC 7638) or by the name of the file.
func ReadKeys(path string) (cardsig.KeySet, error) {
	raw, err := os.ReadFile(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, fmt.Errorf("the file %s does not exist", path)
	case err != nil:
		return nil, fmt.Errorf("the file %s cannot be read", path)
	case len(raw) > maxKeyFile:
		return nil, fmt.Errorf("the file %s has more than %d bytes", path, maxKeyFile)
	}
	if block, rest := pem.Decode(raw); block != nil {
		if strings.TrimSpace(string(rest)) != "" {
			return nil, fmt.Errorf("the file %s holds more than one key; write a file for each", path)
		}
		return pemKey(block, strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)), path)
	}
	set, err := cardsig.ParseKeys(raw)
	if err != nil {
		return nil, fmt.Errorf("the file %s: %w", path, err)
	}
	if len(set) == 0 {
		return nil, fmt.Errorf("the file %s holds no public key with an id that can verify", path)
	}
	return set, nil
}

func pemKey(block *pem.Block, name, path string) (cardsig.KeySet, error) {
	public, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("the file %s holds no public key (BEGIN PUBLIC KEY), it holds %q", path, block.Type)
	}
	id, err := cardsig.KeyID(crypto.PublicKey(public))
	if err != nil {
		return nil, fmt.Errorf("the file %s: %w", path, err)
	}
	k := cardsig.Key{JSONWebKey: jose.JSONWebKey{Key: public, KeyID: id}}
	return cardsig.KeySet{id: k, name: k}, nil
}

func readHosts(n strictyaml.Node) []string {
	var hosts []string
	for _, item := range n.Items() {
		h := strings.ToLower(item.Text())
		switch {
		case h == "":
		case strings.ContainsAny(h, "/@ *") || !hostPort(h):
			item.Problem("%q is no host; write a name such as keys.partner.example, with a port where it is not 443", strictyaml.Clip(h))
		case len(hosts) == maxHosts:
			item.Problem("at most %d hosts", maxHosts)
		default:
			hosts = append(hosts, h)
		}
	}
	return hosts
}

func hostPort(h string) bool {
	u, err := url.Parse("https://" + h)
	return err == nil && u.Host == h && u.Hostname() != "" && u.Path == ""
}

func readAlgorithms(n strictyaml.Node) []jose.SignatureAlgorithm {
	var known []string
	for _, a := range cardsig.Algorithms {
		known = append(known, string(a))
	}
	algorithms := []jose.SignatureAlgorithm{}
	for _, item := range n.Items() {
		if a := item.OneOf(known...); a != "" {
			algorithms = append(algorithms, jose.SignatureAlgorithm(a))
		}
	}
	if len(algorithms) == 0 {
		n.Problem("names no algorithm; write some of %s, or remove the key", strings.Join(known, ", "))
	}
	return algorithms
}
