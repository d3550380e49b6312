package load

import (
	"net/http"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/encoding/protojson"
)

func TestTheReceiverTakesWhatComesInOrder(t *testing.T) {
	r, err := Listen()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	post := func(ev *a2apb.StreamResponse, token string) int {
		t.Helper()
		body, err := protojson.Marshal(ev)
		if err != nil {
			t.Fatal(err)
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.config(1).GetUrl(), strings.NewReader(string(body)))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+r.config(1).GetAuthentication().GetCredentials())
		req.Header.Set("X-A2A-Notification-Token", token)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		return res.StatusCode
	}
	good := r.config(1).GetToken()
	for _, ev := range []*a2apb.StreamResponse{snapshot(t, "1.1", false), update(t, "1.3", completed), update(t, "1.3", completed)} {
		if code := post(ev, good); code != http.StatusOK {
			t.Errorf("answered %d", code)
		}
	}
	plans := []*Plan{{N: 1, Read: completed}}
	if a := r.account(plans); a.Deliveries != 3 || a.Missing != 0 || len(a.Wrong) != 0 {
		t.Errorf("%+v", a)
	}
	post(update(t, "1.2", a2apb.TaskState_TASK_STATE_WORKING), good)
	post(update(t, "1.3", completed), "another")
	if a := r.account(plans); len(a.Wrong) != 2 || !strings.Contains(a.Wrong[0], "event 2 came after 3") || !strings.Contains(a.Wrong[1], "credentials or token") {
		t.Errorf("%+v", a)
	}
}
