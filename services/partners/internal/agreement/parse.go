package agreement

import (
	"crypto/sha256"
	"encoding/hex"
	"net/netip"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"sabha.dev/chassis/calendar"
	"sabha.dev/chassis/disclosure"
	"sabha.dev/chassis/strictyaml"
	"sabha.dev/services/partners/internal/cardtrust"
	"sabha.dev/services/partners/internal/credential"
	"sabha.dev/services/partners/internal/partner"
)

// Parse reads one agreement. name is the file as problems should show it. The error is
// strictyaml.Problems with everything found. Whether a fallback exists is not known here;
// see [Check].
func Parse(name string, data []byte) (*Agreement, error) {
	a, _, err := parse(name, data)
	return a, err
}

// place is where a file says something that can only be checked with all files.
type place struct {
	file, path string
	line       int
}

// places of a file: the partner's, under an empty name, and those of the fallbacks by skill.
type places map[string]place

func parse(name string, data []byte) (*Agreement, places, error) {
	sum := sha256.Sum256(data)
	r := &reader{
		name: name, places: places{},
		agreement: &Agreement{Digest: hex.EncodeToString(sum[:]), Records: Records{Retention: DefaultRetained, Figures: DefaultFigures, Trace: TraceID}},
	}
	if err := strictyaml.Parse(name, data, r.file); err != nil {
		return nil, nil, err
	}
	return r.agreement, r.places, nil
}

// reader turns one file into an agreement.
type reader struct {
	agreement *Agreement
	name      string
	places    places
}

func (r *reader) file(root strictyaml.Node) {
	a := r.agreement
	f, ok := root.Fields("partner", "version", "owner", "review_date", "organisation", "card", "networks", "signatures", "credentials", "disclosure", "records", "skills")
	if !ok {
		return
	}
	if n, ok := f.Need("partner"); ok {
		a.Partner = n.Text()
		r.places[""] = place{r.name, "partner", n.Line()}
		if a.Partner != "" && !partner.ValidID(a.Partner) {
			n.Problem("%q is not a partner's id; use small letters, digits and -, beginning with a letter, at most 63", strictyaml.Clip(a.Partner))
		}
	}
	if n, ok := f.Need("version"); ok {
		a.Version = n.Scalar()
	}
	if n, ok := f.Need("owner"); ok {
		a.Owner = n.Text()
	}
	if n, ok := f.Need("review_date"); ok {
		a.ReviewDate = date(n)
	}
	if n, ok := f.Need("organisation"); ok {
		a.Organisation = n.Text()
	}
	if n, ok := f.Get("card"); ok {
		a.Card = n.Text()
		if u, err := url.Parse(a.Card); a.Card != "" && (err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil) {
			n.Problem("%q is not the URL of a card; write it as https://HOST/.well-known/agent-card.json", strictyaml.Clip(a.Card))
		}
	}
	if n, ok := f.Get("networks"); ok {
		for _, i := range n.Items() {
			text := i.Scalar()
			p, err := netip.ParsePrefix(text)
			if err != nil || p != p.Masked() {
				i.Problem("%q is not a range of addresses; write it as 10.1.0.0/16", strictyaml.Clip(text))
			}
			a.Networks = append(a.Networks, p)
		}
	}
	if n, ok := f.Get("signatures"); ok {
		p := cardtrust.Parse(n, filepath.Dir(r.name))
		a.Signatures = &p
	}
	if n, ok := f.Get("credentials"); ok {
		a.Credentials = credential.Parse(n)
	}
	if n, ok := f.Get("disclosure"); ok {
		a.Disclosure = disclosure.Parse(n)
	}
	if n, ok := f.Get("records"); ok {
		a.Records.read(n)
	}
	if n, ok := f.Need("skills"); ok {
		for _, e := range n.Entries() {
			a.Skills = append(a.Skills, r.skill(e))
		}
		if len(a.Skills) == 0 {
			n.Problem("allows nothing; name a skill of the partner's card")
		}
	}
}

// date reads a day; the zero one after a problem.
func date(n strictyaml.Node) calendar.Date {
	day, err := calendar.ParseDate(n.Scalar())
	if err != nil {
		n.Problem("%s", err)
	}
	return day
}

func (r *Records) read(n strictyaml.Node) {
	f, ok := n.Fields("retention", "figures", "trace")
	if !ok {
		return
	}
	if n, ok := f.Get("retention"); ok {
		r.Retention = days(n, MinRetention, MaxRetention)
	}
	if n, ok := f.Get("figures"); ok {
		r.Figures = days(n, MinFigures, MaxRetention)
	}
	if n, ok := f.Get("trace"); ok {
		r.Trace = Trace(n.OneOf(string(TraceFull), string(TraceID), string(TraceNone)))
	}
}

// days reads how long something is kept, in days of 24 hours.
func days(n strictyaml.Node, least, most time.Duration) time.Duration {
	const day = 24 * time.Hour
	text := n.Scalar()
	number, isDays := strings.CutSuffix(text, "d")
	count, err := strconv.Atoi(number)
	d := time.Duration(count) * day
	if text != "" && (!isDays || err != nil || count > int(most/day) || d < least) {
		n.Problem("%q is not a number of days from %dd to %dd; write it as 90d", strictyaml.Clip(text), least/day, most/day)
	}
	return d
}
