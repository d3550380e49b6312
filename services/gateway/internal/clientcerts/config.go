// Package clientcerts knows callers by the certificates that they show on the public
// ports, of authorities that the operator trusts for that.
package clientcerts

import (
	"errors"
	"fmt"
	"slices"

	"sabha.dev/chassis/identity"
)

// Config of the authorities of one or several organisations.
type Config struct {
	// Authorities is a file with their certificates (PEM).
	Authorities string `yaml:"authorities"`
	// Revoked is a file with their lists of revoked certificates (CRL, PEM or DER);
	// empty for none. Whether a list is out of date is not looked at.
	Revoked string `yaml:"revoked"`
	// Organisations whose callers they certify.
	Organisations []string `yaml:"organisations"`
	// Subject says what in a certificate is the caller's stable name: cn (the common
	// name), dns or email (its only alternative name of the kind); absent means cn.
	Subject string `yaml:"subject"`
	// Organisation says what names the organisation: o or ou (its only one); absent
	// means that there is one alone.
	Organisation string `yaml:"organisation"`
}

// Check says what is missing or cannot be meant.
func Check(all []Config) error {
	var errs []error
	for i, c := range all {
		wrong := func(format string, args ...any) {
			errs = append(errs, fmt.Errorf("client_certificates[%d]."+format, append([]any{i}, args...)...))
		}
		if c.Authorities == "" {
			wrong("authorities is missing: the file with the certificates of those who issue")
		}
		if !slices.Contains([]string{"", "cn", "dns", "email"}, c.Subject) {
			wrong("subject: %q must be cn, dns or email", c.Subject)
		}
		switch {
		case !slices.Contains([]string{"", "o", "ou"}, c.Organisation):
			wrong("organisation: %q must be o or ou", c.Organisation)
		case len(c.Organisations) == 0:
			wrong("organisations is missing: whose callers are certified")
		case len(c.Organisations) > 1 && c.Organisation == "":
			wrong("organisation is missing: with several organisations a certificate must tell which one a caller is of")
		}
		for _, o := range c.Organisations {
			if err := (identity.Principal{Subject: "a", Organisation: o}).Check(); o == "" || err != nil {
				wrong("organisations: %q is no name of an organisation", o)
			}
		}
	}
	return errors.Join(errs...)
}
