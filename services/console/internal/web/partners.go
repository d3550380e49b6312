package web

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"sabha.dev/chassis/fault"
	partnersv1 "sabha.dev/gen/sabha/partners/v1"
	registryv1 "sabha.dev/gen/sabha/registry/v1"
	"sabha.dev/services/console/internal/page"
	"sabha.dev/services/console/internal/partners"
)

// partnersService is the subject of a sentence that says that it cannot be reached.
const partnersService = "The partners service"

// Names under which pages of partners are woken (see Happened).
const (
	wakePartners = "partners"
	wakePartner  = "partner:"
)

// fetchWithin bounds what a form has done that reads a card at its partner.
const fetchWithin = 25 * time.Second

// OpenPartners serves the pages of agents of other organisations.
func (s *Site) OpenPartners(p *partners.Source) {
	s.partners = p
	s.screen("GET /partners", s.partnerList)
	s.screen("GET /partners/{id}", s.partner)
	s.action("POST /partners", s.registerPartner)
	s.action("POST /partners/{id}/do", s.decidePartner)
}

func (s *Site) partnerList(r *http.Request) page.View {
	v := page.View{Title: "Partners", Section: page.Partners, Wakes: []string{wakePartners}}
	b, err := s.partners.Board(r.Context(), partners.Read(r.URL.Query()))
	if err != nil {
		return s.unreadPartners(v, err)
	}
	v.Body = page.PartnerList(b)
	return v
}

func (s *Site) partner(r *http.Request) page.View {
	v := page.View{Title: "Partner", Section: page.Partners, Wakes: []string{wakePartner + r.PathValue("id")}}
	d, err := s.partners.Detail(r.Context(), r.PathValue("id"), partners.ReadPlace(r.URL.Query()))
	if err != nil {
		return s.unreadPartners(v, err)
	}
	v.Title = page.PartnerTitle(d)
	v.Body = page.PartnerPage(page.PartnerView{Detail: d, Changed: r.URL.Query().Get("changed") != ""})
	return v
}

func (s *Site) unreadPartners(v page.View, err error) page.View {
	var absent page.View
	switch {
	case errors.Is(err, partners.ErrNoPartner):
		absent = problem(http.StatusNotFound, "There is no such partner", "The list of partners shows those that are registered.")
	case errors.Is(err, partners.ErrBadList):
		absent = problem(http.StatusBadRequest, "There is no such list", "It cannot be made of these words, or does not continue here. Begin with all partners.")
	default:
		return s.unreadable(v, partnersService, err)
	}
	absent.Section = page.Partners
	return absent
}

func (s *Site) registerPartner(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), fetchWithin)
	defer cancel()
	text := func(name string) string { return strings.TrimSpace(r.PostFormValue(name)) }
	res, err := s.partners.Registry().RegisterPartner(ctx, &registryv1.RegisterPartnerRequest{
		CardUrl: text("card_url"), Id: text("id"), Organisation: text("organisation"), Hosts: strings.Fields(text("hosts")),
	})
	if err != nil {
		s.refused(w, r, told(err), "/partners")
		return
	}
	s.Happened(wakePartners)
	s.done(w, r, "Registered. Look at its card, then verify and approve it.", page.PartnerPath(res.GetPartner().GetId()))
}

// decidePartner does with a partner what a button says.
func (s *Site) decidePartner(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), fetchWithin)
	defer cancel()
	id := r.PathValue("id")
	here := page.PartnerPath(id)
	text, err := s.doPartner(ctx, id, r)
	f := fault.FromStatus(err)
	switch {
	case errors.Is(err, errNoDeed):
		s.invalid(w, r, "There is no such thing to do. Load the page again.", here)
	case f != nil && f.Reason == fault.PartnerChanged:
		// Another address has the page loaded, and with it the digest of what is there now.
		s.tell(w, r, http.StatusConflict, page.Toast{Tone: page.Warn, Text: "The card has changed, so nothing was decided."}, here+"?changed="+s.clock.Now().UTC().Format("150405"))
	case err != nil:
		s.refused(w, r, told(err), here)
	default:
		s.Happened(wakePartners)
		s.done(w, r, text, here)
	}
}

var errNoDeed = errors.New("nothing is done by this name")

// doPartner says what was done.
func (s *Site) doPartner(ctx context.Context, id string, r *http.Request) (string, error) {
	c := s.partners.Registry()
	note, digest := strings.TrimSpace(r.PostFormValue("note")), r.PostFormValue("digest")
	yes, no := true, false
	var err error
	switch r.PostFormValue("do") {
	case "verify":
		_, err = c.VerifyPartner(ctx, &registryv1.VerifyPartnerRequest{Id: id})
		return "Its card is good, and the agent answered.", err
	case "refresh":
		res, err := c.RefreshPartner(ctx, &registryv1.RefreshPartnerRequest{Id: id})
		if res.GetChange() != nil {
			return "The card was read. It has changed, and waits for a decision.", err
		}
		return "The card was read. Nothing waits for a decision.", err
	case "approve":
		_, err = c.ApprovePartner(ctx, &registryv1.ApprovePartnerRequest{Id: id, Digest: digest, Note: note})
		return "Approved. Rights are given apart from that.", err
	case "suspend":
		_, err = c.SuspendPartner(ctx, &registryv1.SuspendPartnerRequest{Id: id, Reason: strings.TrimSpace(r.PostFormValue("reason"))})
		return "Suspended. It is not called any more.", err
	case "callable":
		_, err = c.SetRights(ctx, &registryv1.SetRightsRequest{Id: id, Callable: &yes})
		return "Plans may call it while it is approved.", err
	case "uncallable":
		_, err = c.SetRights(ctx, &registryv1.SetRightsRequest{Id: id, Callable: &no})
		return "Plans may not call it.", err
	case "discoverable":
		_, err = c.SetRights(ctx, &registryv1.SetRightsRequest{Id: id, Discoverable: &yes})
		return "Searches find it while it is approved.", err
	case "hidden":
		_, err = c.SetRights(ctx, &registryv1.SetRightsRequest{Id: id, Discoverable: &no})
		return "Searches do not find it.", err
	case "adopt":
		_, err = c.DecideChange(ctx, &registryv1.DecideChangeRequest{Id: id, Digest: digest, Adopt: true, Note: note})
		return "Adopted. Calls use the new card.", err
	case "refuse":
		_, err = c.DecideChange(ctx, &registryv1.DecideChangeRequest{Id: id, Digest: digest, Note: note})
		return "The approved card stays. This change is not offered again.", err
	case "test":
		_, err = s.partners.Contracts().RunSuite(ctx, &partnersv1.RunSuiteRequest{Partner: id, Reason: "asked for at the console"})
		return "They are run in turn.", err
	}
	return "", errNoDeed
}

// told puts what is wrong with the fields of a call into the sentence of its error.
func told(err error) error {
	f := fault.FromStatus(err)
	if f == nil || len(f.Fields) == 0 {
		return err
	}
	var all []string
	for _, field := range f.Fields {
		all = append(all, field.Path+" "+field.Problem)
	}
	return fault.Status(fault.New(f.Reason, "%s", strings.Join(all, "; "))).Err()
}
