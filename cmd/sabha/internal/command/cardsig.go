package command

import (
	"context"
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"sabha.dev/chassis/cardsig"
	"sabha.dev/chassis/clock"
	"sabha.dev/cmd/sabha/internal/client"
)

func (r *run) cardSign() *cobra.Command {
	var keyFile, jku, id string
	c := &cobra.Command{
		Use: "sign FILE", Short: "Sign an agent card",
		Long: `Sign prints the card of a file with signatures added as A2A 1.0 says in
section 8.4; the rest of it stays to the byte. Publish exactly what is printed. The key is an
Ed25519, P-256 or RSA private key (PEM, PKCS 8); "sabha card keys" prints its public part
for the address that --jku names. Sign with two keys one after the other to rotate them.`,
		Example: "  sabha card sign card.json --key rates.key --jku https://rates.example/.well-known/jwks.json > agent-card.json",
		Args:    exactly(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if keyFile == "" {
				return usagef("name the private key with --key FILE; sabha keys DIR makes some")
			}
			raw, err := r.readFile(args[0])
			if err != nil {
				return err
			}
			key, err := readKey(keyFile)
			if err != nil {
				return err
			}
			private, ok := key.(crypto.Signer)
			if !ok {
				return usagef("%s holds a public key; signing needs the private one", keyFile)
			}
			if id == "" {
				if id, err = cardsig.KeyID(private.Public()); err != nil {
					return err
				}
			}
			signer, err := cardsig.NewSigner(private, id, jku)
			if err != nil {
				return usagef("%s: %v", keyFile, err)
			}
			signed, err := signer.Sign(raw)
			if err != nil {
				return usagef("%s: %v", args[0], err)
			}
			return r.say(string(signed))
		},
	}
	c.Flags().StringVar(&keyFile, "key", "", "the private key, a PEM file")
	c.Flags().StringVar(&jku, "jku", "", "URL at which the public keys are published")
	c.Flags().StringVar(&id, "id", "", "id of the key; its JWK thumbprint unless stated")
	return c
}

func (r *run) cardKeys() *cobra.Command {
	return &cobra.Command{
		Use: "keys FILE...", Short: "Print the public keys of key files as a JWKS",
		Long: `Keys prints the public parts of key files (PEM; private or public) as one JWKS, to be published
where --jku of "sabha card sign" says. To end a key's use, add "exp" (seconds since 1970) or
"revoked": {"revoked_at": seconds} to its entry: verifiers of Sabha heed both.`,
		Example: "  sabha card keys rates.key > jwks.json",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			var public []crypto.PublicKey
			for _, file := range args {
				key, err := readKey(file)
				if err != nil {
					return err
				}
				if private, ok := key.(crypto.Signer); ok {
					key = private.Public()
				}
				public = append(public, key)
			}
			raw, err := cardsig.JWKS(public...)
			if err != nil {
				return usagef("%v", err)
			}
			return r.say(string(raw))
		},
	}
}

func (r *run) cardVerify() *cobra.Command {
	var keys string
	c := &cobra.Command{
		Use: "verify URL|FILE", Short: "Verify the signatures of an agent card",
		Long: `Verify tells for each signature of a card whether it is good, bad, or good for a part of the
card only: the form that the official SDKs sign, which does not count here. What is verified is the JSON as it
was received (A2A 1.0, section 8.4.3). The exit code is 1 unless one of them is good.

Whom to trust is yours to say: --keys names a JWKS, as a file or a URL. Without it the keys
are fetched from where the signature says (jku), but only from the host that the card came
from, over the same scheme: then the card proves no more than that host does.`,
		Example: "  sabha card verify https://rates.example\n  sabha card verify agent-card.json --keys jwks.json",
		Args:    exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			authorities, err := r.authorities()
			if err != nil {
				return err
			}
			get := func(ctx context.Context, u *url.URL) ([]byte, error) { return client.Get(ctx, u, authorities) }
			raw, from, err := r.cardOf(cmd.Context(), args[0], authorities)
			if err != nil {
				return err
			}
			v := &cardsig.Verifier{Clock: clock.System{}, Keys: fromItsHost(from, get)}
			if keys != "" {
				set, err := r.trusted(cmd.Context(), keys, get)
				if err != nil {
					return err
				}
				v.Keys = set.Find
			}
			found, err := v.Verify(cmd.Context(), raw)
			for _, s := range found {
				line := fmt.Sprintf("%s  key %s", s.Algorithm, s.KeyID)
				switch {
				case errors.Is(s.Err, cardsig.ErrReduced):
					line = fmt.Sprintf("part  %s: %s", line, s.Err)
				case s.Err != nil:
					line = fmt.Sprintf("bad   %s: %s", line, s.Err)
				default:
					line = "good  " + line
				}
				if s.JKU != "" {
					line += "  (" + s.JKU + ")"
				}
				if err := r.say(line); err != nil {
					return err
				}
			}
			switch {
			case len(found) > 0 && err != nil:
				return ended{ExitFailure}
			case err != nil:
				return &failure{ExitFailure, err.Error(), ""}
			}
			return nil
		},
	}
	c.Flags().StringVar(&r.ca, "ca", "", caHelp)
	c.Flags().StringVar(&keys, "keys", "", "JWKS with the keys to trust, a file or a URL")
	return c
}

// cardOf reads a card from a file, or from a base address, which is given too.
func (r *run) cardOf(ctx context.Context, place string, authorities *x509.CertPool) ([]byte, *url.URL, error) {
	if _, err := os.Stat(place); err == nil {
		raw, err := r.readFile(place)
		return raw, nil, err
	}
	base, err := client.ParseServer(place)
	if err != nil {
		return nil, nil, usagef("%q is no file and no address: %v", place, err)
	}
	fetched, err := client.Fetch(ctx, base, authorities)
	var unreachable *client.Unreachable
	if errors.As(err, &unreachable) {
		return nil, nil, &failure{ExitUnavailable, fmt.Sprintf("cannot reach %s: %s", unreachable.Address, cause(unreachable.Err)), ""}
	}
	if err != nil {
		return nil, nil, err
	}
	return fetched.Body, base, nil
}

// trusted reads the keys of a file or URL.
func (r *run) trusted(ctx context.Context, place string, get func(context.Context, *url.URL) ([]byte, error)) (cardsig.KeySet, error) {
	var raw []byte
	u, err := url.Parse(place)
	if err == nil && (u.Scheme == "http" || u.Scheme == "https") {
		raw, err = get(ctx, u)
	} else {
		raw, err = r.readFile(place)
	}
	if err != nil {
		return nil, err
	}
	set, err := cardsig.ParseKeys(raw)
	if err != nil {
		return nil, usagef("%s: %v", place, err)
	}
	return set, nil
}

// fromItsHost finds keys where a signature says, if that is the host of its card.
func fromItsHost(from *url.URL, get func(context.Context, *url.URL) ([]byte, error)) cardsig.Keys {
	fetched := map[string]cardsig.KeySet{}
	return func(ctx context.Context, id, jku string) (cardsig.Key, error) {
		u, err := url.Parse(jku)
		switch {
		case jku == "":
			return cardsig.Key{}, errors.New("it does not say where its key is published; name the keys with --keys")
		case err != nil || from == nil || u.Host != from.Host || u.Scheme != from.Scheme:
			return cardsig.Key{}, errors.New("its key is published elsewhere than the card; name the keys that you trust with --keys")
		}
		set, known := fetched[jku]
		if !known {
			raw, err := get(ctx, u)
			if err == nil {
				set, err = cardsig.ParseKeys(raw)
			}
			if err != nil {
				return cardsig.Key{}, err
			}
			fetched[jku] = set
		}
		return set.Find(ctx, id, jku)
	}
}

// readFile reads a file that the command line names.
func (r *run) readFile(name string) ([]byte, error) {
	raw, err := os.ReadFile(name)
	if err != nil {
		return nil, usagef("%s", strings.TrimPrefix(err.Error(), "open "))
	}
	return raw, nil
}

// readKey reads a key of a PEM file, private (PKCS 8) or public (PKIX).
func readKey(file string) (crypto.PublicKey, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, usagef("%s", strings.TrimPrefix(err.Error(), "open "))
	}
	block, _ := pem.Decode(raw)
	if block == nil {
		return nil, usagef("%s is no PEM file", file)
	}
	if key, err := x509.ParsePKCS8PrivateKey(block.Bytes); err == nil {
		return key, nil
	}
	key, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return nil, usagef("%s holds neither a private key (PKCS 8) nor a public one (PKIX)", file)
	}
	return key, nil
}
