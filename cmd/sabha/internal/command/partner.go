package command

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"sabha.dev/cmd/sabha/internal/client"
	"sabha.dev/cmd/sabha/internal/render"
	registryv1 "sabha.dev/gen/sabha/registry/v1"
)

func (r *run) partner() *cobra.Command {
	c := &cobra.Command{Use: "partner", Short: "Agents of other organisations: look at them, approve them, stop them", Args: cobra.NoArgs}
	c.AddCommand(r.partnerRegister(), r.partnerList(), r.partnerSearch(), r.partnerShow(), r.partnerVerify(), r.partnerApprove(), r.partnerSuspend(),
		r.partnerRights(), r.partnerRefresh(), r.partnerChanges(), r.partnerHistory(), r.contractTest(), r.contractRuns(), r.partnerCrossings())
	return group(c)
}

// registry is the service that a command calls.
type registry = registryv1.RegistryServiceClient

// answer to a change is the partner as it is then.
type answer interface{ GetPartner() *registryv1.Partner }

// partnered is a command that changes a partner and tells what it is then.
func (r *run) partnered(c *cobra.Command, f func(context.Context, registry, string) (answer, error)) *cobra.Command {
	c.RunE = func(cmd *cobra.Command, args []string) error {
		return r.withPlatform(cmd.Context(), func(ctx context.Context, c *client.Client) error {
			res, err := client.Registry(ctx, c, func(ctx context.Context, s registry) (answer, error) {
				return f(ctx, s, args[0])
			})
			if err != nil {
				return err
			}
			return r.say(r.style().Partners([]*registryv1.Partner{res.GetPartner()})...)
		})
	}
	return r.calls(c)
}

func (r *run) partnerRegister() *cobra.Command {
	var req registryv1.RegisterPartnerRequest
	c := &cobra.Command{
		Use: "register URL", Short: "Read a card and keep its agent as discovered", Args: exactly(1),
		Long: "Register takes the address of an agent or of its card. Nobody finds or calls the agent until it is approved and has rights. It needs the key of an operator.",
	}
	c.Flags().StringVar(&req.Id, "id", "", "its name here: small letters, digits and hyphens (default made of the card's name)")
	c.Flags().StringVar(&req.Organisation, "organisation", "", "whose it is, as you vouch for (default what its own site says)")
	c.Flags().StringSliceVar(&req.Hosts, "host", nil, "a host beside the card's own site that its interfaces may be on")
	return r.partnered(c, func(ctx context.Context, s registry, url string) (answer, error) {
		req.CardUrl = url
		return s.RegisterPartner(ctx, &req)
	})
}

// partnerFilter adds the flags of a search.
func (r *run) partnerFilter(c *cobra.Command, query func([]string) string) *cobra.Command {
	var (
		req      registryv1.ListPartnersRequest
		state    string
		jsonLine bool
	)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if state != "" {
			n, ok := registryv1.State_value["STATE_"+strings.ToUpper(state)]
			if !ok || n == 0 {
				return usagef("--state %q is none; write discovered, verified, approved or suspended", state)
			}
			req.States = []registryv1.State{registryv1.State(n)}
		}
		req.Query, req.PageSize = query(args), 200
		return r.withPlatform(cmd.Context(), func(ctx context.Context, c *client.Client) error {
			var all []*registryv1.Partner
			for {
				res, err := client.Registry(ctx, c, func(ctx context.Context, s registry) (*registryv1.ListPartnersResponse, error) {
					return s.ListPartners(ctx, &req)
				})
				if err != nil {
					return err
				}
				all = append(all, res.GetPartners()...)
				if req.PageToken = res.GetNextPageToken(); req.PageToken == "" || len(all) >= maxPartners {
					break
				}
			}
			switch {
			case jsonLine:
				for _, p := range all {
					if err := r.sayJSON(p); err != nil {
						return err
					}
				}
				return nil
			case len(all) == 0:
				return r.say("Nothing here.")
			}
			return r.say(r.style().Partners(all)...)
		})
	}
	f := c.Flags()
	f.StringVar(&req.Capability, "capability", "", "only with this skill, or a word of it")
	f.StringVar(&req.Organisation, "organisation", "", "only of this organisation")
	f.StringSliceVar(&req.Tags, "tag", nil, "only with this tag")
	f.BoolVar(&req.OnlineOnly, "online", false, "only those that answer")
	f.Float64Var(&req.MinTrustScore, "min-trust", 0, "only those trusted so far, from 0 to 1")
	f.StringVar(&state, "state", "", "only in this state: discovered, verified, approved or suspended")
	f.BoolVar(&jsonLine, "json", false, "print each as a line of JSON")
	return r.calls(c)
}

// maxPartners is how many a list shows.
const maxPartners = 10_000

func (r *run) partnerList() *cobra.Command {
	return r.partnerFilter(&cobra.Command{
		Use: "list", Short: "List partners, the most trusted first", Args: exactly(0),
		Long: "List needs a key with a role: viewer, reviewer, operator, auditor or admin.",
	}, func([]string) string { return "" })
}

func (r *run) partnerSearch() *cobra.Command {
	return r.partnerFilter(&cobra.Command{
		Use: "search WORD…", Short: "Find partners by words of their names, descriptions, tags and skills", Args: cobra.MinimumNArgs(1),
	}, func(args []string) string { return strings.Join(args, " ") })
}

func (r *run) partnerShow() *cobra.Command {
	var jsonLine, card bool
	c := &cobra.Command{
		Use: "show PARTNER", Short: "Show a partner with what an approval rests on", Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return r.withPlatform(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				d, err := getPartner(ctx, c, args[0])
				switch {
				case err != nil:
					return err
				case card:
					return r.say(render.Clean(d.GetCard()))
				case jsonLine:
					return r.sayJSON(d)
				}
				return r.say(r.style().Partner(d)...)
			})
		},
	}
	c.Flags().BoolVar(&card, "card", false, "print the card instead")
	c.Flags().BoolVar(&jsonLine, "json", false, "print it as a line of JSON")
	return r.calls(c)
}

func getPartner(ctx context.Context, c *client.Client, id string) (*registryv1.GetPartnerResponse, error) {
	return client.Registry(ctx, c, func(ctx context.Context, s registry) (*registryv1.GetPartnerResponse, error) {
		return s.GetPartner(ctx, &registryv1.GetPartnerRequest{Id: id})
	})
}

func (r *run) partnerVerify() *cobra.Command {
	c := &cobra.Command{Use: "verify PARTNER", Short: "Read the card again, check it, and ask whether the agent is there", Args: exactly(1)}
	return r.partnered(c, func(ctx context.Context, s registry, id string) (answer, error) {
		return s.VerifyPartner(ctx, &registryv1.VerifyPartnerRequest{Id: id})
	})
}

func digestFlag(c *cobra.Command, digest *string) {
	c.Flags().StringVar(digest, "digest", "", fmt.Sprintf("the digest that was shown, at least %d digits of it", render.DigestShown))
}

// whole gives the digest that the beginning of one stands for. One that fits nothing is
// refused by the service.
func whole(digest, known string) string {
	if strings.HasPrefix(known, digest) {
		return known
	}
	return digest
}

func (r *run) partnerApprove() *cobra.Command {
	var digest, note string
	c := &cobra.Command{
		Use: "approve PARTNER --digest D", Short: "Approve the card that was shown", Args: exactly(1),
		Long: "Approve needs the digest that show has shown: you approve that card and no other. It gives no rights; see sabha partner rights.",
	}
	digestFlag(c, &digest)
	c.Flags().StringVar(&note, "note", "", "a note for the history")
	return r.partnered(c, func(ctx context.Context, s registry, id string) (answer, error) {
		if len(digest) < render.DigestShown {
			return nil, usagef("--digest is missing or shorter than %d digits; see it with: sabha partner show %s", render.DigestShown, id)
		}
		d, err := s.GetPartner(ctx, &registryv1.GetPartnerRequest{Id: id})
		if err != nil {
			return nil, err
		}
		return s.ApprovePartner(ctx, &registryv1.ApprovePartnerRequest{Id: id, Digest: whole(digest, d.GetPartner().GetDigest()), Note: note})
	})
}

func (r *run) partnerSuspend() *cobra.Command {
	var reason string
	c := &cobra.Command{Use: "suspend PARTNER --reason WHY", Short: "Stop all calls to a partner", Args: exactly(1)}
	c.Flags().StringVar(&reason, "reason", "", "why, for those who ask")
	return r.partnered(c, func(ctx context.Context, s registry, id string) (answer, error) {
		return s.SuspendPartner(ctx, &registryv1.SuspendPartnerRequest{Id: id, Reason: reason})
	})
}

func (r *run) partnerRights() *cobra.Command {
	var discoverable, callable bool
	c := &cobra.Command{
		Use: "rights PARTNER", Short: "Say whether others find a partner, and whether plans may call it", Args: exactly(1),
		Long: "Rights that are not named stay as they are: --callable gives that one, --callable=false takes it.",
	}
	c.Flags().BoolVar(&discoverable, "discoverable", false, "other organisations find it in the registry")
	c.Flags().BoolVar(&callable, "callable", false, "plans may call it")
	return r.partnered(c, func(ctx context.Context, s registry, id string) (answer, error) {
		req := &registryv1.SetRightsRequest{Id: id}
		if c.Flags().Changed("discoverable") {
			req.Discoverable = &discoverable
		}
		if c.Flags().Changed("callable") {
			req.Callable = &callable
		}
		if req.Discoverable == nil && req.Callable == nil {
			return nil, usagef("name a right: --discoverable or --callable, with =false to take it")
		}
		return s.SetRights(ctx, req)
	})
}

func (r *run) partnerRefresh() *cobra.Command {
	c := &cobra.Command{
		Use: "refresh PARTNER", Short: "Read the card now, and show what has changed", Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return r.withPlatform(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				res, err := client.Registry(ctx, c, func(ctx context.Context, s registry) (*registryv1.RefreshPartnerResponse, error) {
					return s.RefreshPartner(ctx, &registryv1.RefreshPartnerRequest{Id: args[0]})
				})
				if err != nil {
					return err
				}
				lines := r.style().Partners([]*registryv1.Partner{res.GetPartner()})
				if problem := res.GetPartner().GetProblem(); problem != "" {
					lines = append(lines, render.Clean(problem))
				}
				if res.GetChange() != nil {
					lines = append(lines, r.style().PartnerChanges([]*registryv1.Change{res.GetChange()})...)
				}
				return r.say(lines...)
			})
		},
	}
	return r.calls(c)
}

func (r *run) partnerChanges() *cobra.Command {
	var jsonLine bool
	c := &cobra.Command{
		Use: "changes", Short: "List changes of cards that wait for a decision, and decide", Args: exactly(0),
		Long: "Changes of texts are adopted by themselves. All others wait here; meanwhile calls go on with the approved card.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return r.withPlatform(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				res, err := client.Registry(ctx, c, func(ctx context.Context, s registry) (*registryv1.ListChangesResponse, error) {
					return s.ListChanges(ctx, &registryv1.ListChangesRequest{PageSize: 200})
				})
				switch {
				case err != nil:
					return err
				case jsonLine:
					for _, c := range res.GetChanges() {
						if err := r.sayJSON(c); err != nil {
							return err
						}
					}
					return nil
				case len(res.GetChanges()) == 0:
					return r.say("Nothing here.")
				}
				return r.say(r.style().PartnerChanges(res.GetChanges())...)
			})
		},
	}
	c.Flags().BoolVar(&jsonLine, "json", false, "print each as a line of JSON")
	c.AddCommand(r.partnerDecide(true), r.partnerDecide(false))
	return r.calls(c)
}

func (r *run) partnerDecide(adopt bool) *cobra.Command {
	var digest, note string
	c := &cobra.Command{Use: "refuse PARTNER --digest D", Short: "Keep the approved card; this change is not offered again", Args: exactly(1)}
	if adopt {
		c.Use, c.Short = "adopt PARTNER --digest D", "Adopt the change that was shown; calls go by it at once"
	}
	digestFlag(c, &digest)
	c.Flags().StringVar(&note, "note", "", "a note for the history")
	return r.partnered(c, func(ctx context.Context, s registry, id string) (answer, error) {
		if len(digest) < render.DigestShown {
			return nil, usagef("--digest is missing or shorter than %d digits; see it with: sabha partner changes", render.DigestShown)
		}
		d, err := s.GetPartner(ctx, &registryv1.GetPartnerRequest{Id: id})
		if err != nil {
			return nil, err
		}
		return s.DecideChange(ctx, &registryv1.DecideChangeRequest{Id: id, Digest: whole(digest, d.GetChange().GetDigest()), Adopt: adopt, Note: note})
	})
}

func (r *run) partnerHistory() *cobra.Command {
	var jsonLine bool
	c := &cobra.Command{
		Use: "history PARTNER", Short: "Show what happened to a partner, the newest first", Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return r.withPlatform(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				res, err := client.Registry(ctx, c, func(ctx context.Context, s registry) (*registryv1.ListHistoryResponse, error) {
					return s.ListHistory(ctx, &registryv1.ListHistoryRequest{Id: args[0], PageSize: 200})
				})
				switch {
				case err != nil:
					return err
				case jsonLine:
					for _, e := range res.GetEntries() {
						if err := r.sayJSON(e); err != nil {
							return err
						}
					}
					return nil
				}
				return r.say(r.style().PartnerHistory(res.GetEntries())...)
			})
		},
	}
	c.Flags().BoolVar(&jsonLine, "json", false, "print each as a line of JSON")
	return r.calls(c)
}
