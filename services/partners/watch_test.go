package partners_test

import (
	"slices"
	"testing"
	"time"

	"sabha.dev/chassis/identity"
	adminv1 "sabha.dev/gen/sabha/admin/v1"
	registryv1 "sabha.dev/gen/sabha/registry/v1"
)

func TestTheConsoleHearsWhichPartnersChange(t *testing.T) {
	onBothEngines(t, func(r *rig) {
		console := r.peer(identity.Console)
		stream, err := adminv1.NewAdminServiceClient(console).Watch(identity.WithOutgoing(r.Context(), identity.Call{}), &adminv1.WatchRequest{Kind: "partners"})
		r.must(err)
		first, err := stream.Recv()
		r.must(err)
		if first.GetKind() != "partners" || len(first.GetIds()) > 0 {
			r.Fatalf("the watch begins with %v", first)
		}
		heard := make(chan []string, 100)
		go func() {
			for {
				res, err := stream.Recv()
				if err != nil {
					return
				}
				heard <- res.GetIds()
			}
		}()
		tells := func(what string) {
			r.Helper()
			for {
				select {
				case ids := <-heard:
					if slices.Contains(ids, "underwriter") {
						return
					}
				case <-time.After(time.Minute):
					r.Fatalf("the watch does not tell that %s", what)
				}
			}
		}
		registry := registryv1.NewRegistryServiceClient(console)
		by := r.as(olga)
		_, err = registry.RegisterPartner(by, &registryv1.RegisterPartnerRequest{CardUrl: r.site.URL + "/card.json", Id: "underwriter", Organisation: "Underwriter"})
		r.must(err)
		tells("a partner was registered")
		_, err = registry.SetRights(by, &registryv1.SetRightsRequest{Id: "underwriter", Discoverable: new(true)})
		r.must(err)
		tells("its rights have changed")
	})
}
