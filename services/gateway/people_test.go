package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"

	"sabha.dev/chassis/fault"
	"sabha.dev/chassis/identity"
	"sabha.dev/chassis/service"
	reviewv1 "sabha.dev/gen/sabha/review/v1"
	"sabha.dev/services/gateway"
)

// withPeople has a gateway know the services that serve people.
func withPeople(c *gateway.Config) {
	c.Peers["review"], c.Peers["partners"], c.Peers["executor"] = "", "", ""
}

// desk tells what it was asked by whom.
type desk struct {
	reviewv1.UnimplementedReviewServiceServer
}

func (desk) ListItems(ctx context.Context, req *reviewv1.ListItemsRequest) (*reviewv1.ListItemsResponse, error) {
	call, _ := identity.CallOf(ctx)
	return &reviewv1.ListItemsResponse{Items: []*reviewv1.Item{{
		Id: "i1", Title: fmt.Sprintf("%v %v %d by %s %v", req.GetMine(), req.GetStates(), req.GetPageSize(), call.Principal.Key(), call.Principal.Scopes),
	}}}, nil
}

func (desk) Decide(_ context.Context, req *reviewv1.DecideRequest) (*reviewv1.DecideResponse, error) {
	if req.GetDigest() != "d1" {
		return nil, fault.New(fault.ItemChanged, "item %s is not what you were shown any more", req.GetId()).With("digest", "d1")
	}
	return &reviewv1.DecideResponse{Item: &reviewv1.Item{Id: req.GetId(), Title: fmt.Sprint(req.GetEdited().AsInterface())}}, nil
}

func TestReviewsAreServedAsHTTPAndJSON(t *testing.T) {
	r := start(t, withPeople)
	env := r.env
	env.Key = r.keys["review"]
	s, err := service.Start(t.Context(), service.Definition{
		Name: "review", Config: service.Config{Database: "sqlite:" + filepath.Join(t.TempDir(), "review.db")},
		Build: func(context.Context, *service.Base) (*service.Persona, error) {
			return &service.Persona{
				Agent: r.persona.agent("review"), Unscreened: true,
				Services: func(s grpc.ServiceRegistrar) { reviewv1.RegisterReviewServiceServer(s, desk{}) },
				Policy: identity.Policy{
					reviewv1.ReviewService_ListItems_FullMethodName: {Actors: []string{identity.Gateway}},
					reviewv1.ReviewService_Decide_FullMethodName:    {Actors: []string{identity.Gateway}},
				},
			}, nil
		},
	}, env)
	if err != nil {
		t.Fatal(err)
	}
	r.backstage["review"] = s
	t.Cleanup(func() { r.stopPersona("review") })

	rita := []string{"X-API-Key: " + r.newKey(t, "-subject", "rita", "-organisation", "acme", "-scopes", "reviewer,group:lending"), "Content-Type: application/json"}
	asha := []string{"X-API-Key: " + r.newKey(t, "-subject", "asha")}
	for _, c := range []struct {
		name, method, path, body string
		headers                  []string
		code                     int
		reason, says             string
	}{
		{"a list", "GET", "/v1/review/items?mine=true&states=STATE_OPEN&states=STATE_ASKED&page_size=5", "", rita, 200, "", "true [STATE_OPEN STATE_ASKED] 5 by acme/rita [reviewer group:lending]"},
		{"a decision", "POST", "/v1/review/items/i7:decide", `{"digest":"d1","approve":true,"edited":{"a":[1,null]}}`, rita, 200, "", "map[a:[1 <nil>]]"},
		{"a stale one", "POST", "/v1/review/items/i7:decide", `{"digest":"d0","approve":true}`, rita, 409, "ITEM_CHANGED", "item i7 is not what you were shown any more"},
		{"nobody", "GET", "/v1/review/items", "", nil, 401, "UNAUTHENTICATED", ""},
		{"somebody without a scope", "GET", "/v1/review/items", "", asha, 403, "PERMISSION_DENIED", ""},
		{"a wrong field", "POST", "/v1/review/items/i7:decide", `{"digets":"d1"}`, rita, 400, "", `the body is not what this call takes: (line 1:2): unknown field "digets"`},
		{"no JSON", "POST", "/v1/review/items/i7:decide", `approve`, rita, 400, "", "the body is not what this call takes"},
		{"too much", "POST", "/v1/review/items/i7:decide", `{"digest":"` + strings.Repeat("d", 5<<20) + `"}`, rita, 400, "", "the body has more than 4194304 bytes"},
		{"another method", "DELETE", "/v1/review/items/i7", "", rita, 405, "", "this path takes GET, not DELETE"},
		{"another path", "GET", "/v1/review/nothing", "", rita, 404, "", ""},
		{"what the service does not serve", "GET", "/v1/review/queues", "", rita, 403, "PERMISSION_DENIED", ""},
	} {
		code, header, text := r.do(t, c.method, c.path, c.body, c.headers)
		var answer struct {
			Items []struct{ Title string }
			Item  struct{ Title string }
			Error struct {
				Code    int
				Message string
				Details []struct{ Reason string }
			}
		}
		if err := json.Unmarshal([]byte(text), &answer); err != nil || header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: %s %q: %v", c.name, header.Get("Content-Type"), text, err)
			continue
		}
		said, reason := answer.Item.Title+answer.Error.Message, ""
		if len(answer.Items) > 0 {
			said = answer.Items[0].Title
		}
		if len(answer.Error.Details) > 0 {
			reason = answer.Error.Details[0].Reason
		}
		if code != c.code || reason != c.reason || !strings.Contains(said, c.says) || (code != http.StatusOK && answer.Error.Code != code) {
			t.Errorf("%s: %d %s %q, want %d %s %q", c.name, code, reason, said, c.code, c.reason, c.says)
		}
	}
	r.stopPersona("review")
	if code, _, text := r.do(t, "GET", "/v1/review/items", "", rita); code != 503 || !strings.Contains(text, "reviews cannot be reached at the moment") {
		t.Errorf("without the service: %d %s", code, text)
	}
}

// Every path of HTTP says which methods it takes to whoever comes with another one.
func TestAWrongMethodIsToldWhichAreRight(t *testing.T) {
	r := start(t, withPeople)
	const get, read, post = "GET", "GET, HEAD", "POST"
	for path, allow := range map[string]string{
		"/v1/review/items": get, "/v1/review/items/i7": get, "/v1/review/items/i7/people": get, "/v1/review/queues": get, "/v1/review/discussions": get, "/v1/review/discussions/d1": get,
		"/v1/review/items/i7:claim": post, "/v1/review/items/i7:release": post, "/v1/review/items/i7:reassign": post, "/v1/review/items/i7:decide": post,
		"/v1/review/items/i7:ask": post, "/v1/review/items:decide": post, "/v1/review/discussions/d1:reply": post, "/v1/review/discussions/d1:acknowledge": post,
		"/v1/tools/all": get, "/v1/tools/by-server/s/t": get, "/v1/tools/by-server/s/t:decide": post,
		"/v1/registry/partners": "GET, POST", "/v1/registry/partners/p7": get, "/v1/registry/partners/p7/history": get, "/v1/registry/changes": get,
		"/v1/registry/partners/p7:verify": post, "/v1/registry/partners/p7:approve": post, "/v1/registry/partners/p7:suspend": post, "/v1/registry/partners/p7:rights": post,
		"/v1/registry/partners/p7:refresh": post, "/v1/registry/partners/p7:decide": post, "/v1/registry/agents": "GET, POST", "/v1/registry/agents/p7": get,
		"/healthz": read, "/readyz": read, "/metrics": read, "/.well-known/jwks.json": read,
		"/.well-known/agent-card.json": read, "/message:send": post, "/message:stream": post, "/tasks": get, "/tasks/t7": get, "/tasks/t7:cancel": post, "/rpc": post,
		"/tasks/t7/pushNotificationConfigs": "GET, POST", "/tasks/t7/pushNotificationConfigs/c1": "DELETE, GET", "/extendedAgentCard": get,
		"/tasks/t7:subscribe": "GET, POST",
	} {
		for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE"} {
			if slices.Contains(strings.Split(allow, ", "), method) {
				continue
			}
			code, header, text := r.do(t, method, path, "", []string{"X-API-Key: " + r.operator})
			want := `{"error":{"code":405,"status":"UNIMPLEMENTED","message":"this path takes ` + header.Get("Allow") + `, not ` + method + `","details":[]}}`
			allowed := strings.Split(header.Get("Allow"), ", ")
			slices.Sort(allowed)
			if code != 405 || strings.Join(allowed, ", ") != allow || text != want {
				t.Errorf("%s %s: %d, takes %q, %s; want it to take %q", method, path, code, header.Get("Allow"), text, allow)
			}
		}
	}
	for _, path := range []string{"/v1/review/nothing", "/v1/review/items/i7/more"} {
		if code, header, text := r.do(t, "POST", path, "{}", []string{"X-API-Key: " + r.operator}); code != 404 || header.Get("Allow") != "" {
			t.Errorf("POST %s: %d %s", path, code, text)
		}
	}
}

func TestWithoutThatServiceThereAreNoReviews(t *testing.T) {
	r := start(t)
	code, _, text := r.do(t, "GET", "/v1/review/items", "", []string{"X-API-Key: " + r.operator})
	if code != 404 || !strings.Contains(text, "no such path") {
		t.Errorf("%d %s", code, text)
	}
}
