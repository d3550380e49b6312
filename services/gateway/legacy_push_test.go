package gateway_test

import (
	"fmt"
	"strings"
	"testing"

	oldpb "github.com/a2aproject/a2a-go/a2apb"
)

// TestOldPush configures webhooks of a task over the three bindings of A2A 0.3. Like
// the servers of that time, it gives a config without an id that of its task.
func TestOldPush(t *testing.T) {
	r := start(t)
	key := "X-API-Key: " + r.operator
	sent := r.send(t, "grpc", request{skill: "hold", headers: []string{key}, now: true})
	id := sent.task
	if id == "" {
		t.Fatalf("no task: %+v", sent)
	}
	config := func(name string) string {
		return `{"pushNotificationConfig":{"id":"` + name + `","authentication":{"credentials":"c","schemes":["Bearer"]},"token":"t","url":"https://hooks.example.com/a"},"taskId":"` + id + `"}`
	}
	proto := func(name string) string {
		return `{"name":"tasks/` + id + `/pushNotificationConfigs/` + name + `","pushNotificationConfig":{"id":"` + name + `","url":"https://hooks.example.com/a","token":"t","authentication":{"schemes":["Bearer"],"credentials":"c"}}}`
	}
	params := strings.NewReplacer(`"id":"`+id+`",`, "").Replace(config(id))
	for _, c := range []struct{ method, params, want string }{
		{"set", params, config(id)},
		{"set", config("b"), config("b")},
		{"get", `{"id":"` + id + `"}`, config(id)},
		{"get", `{"id":"` + id + `","pushNotificationConfigId":"b"}`, config("b")},
		{"delete", `{"id":"` + id + `","pushNotificationConfigId":"b"}`, `null`},
		{"delete", `{"id":"` + id + `","pushNotificationConfigId":"b"}`, `null`},
		{"list", `{"id":"` + id + `"}`, `[` + config(id) + `]`},
		{"delete", `{"id":"` + id + `","pushNotificationConfigId":"` + id + `"}`, `null`},
		{"list", `{"id":"` + id + `"}`, `[]`},
	} {
		_, _, body := r.post(t, "/rpc", oldCall("tasks/pushNotificationConfig/"+c.method, c.params), []string{key})
		if want := rpcResult(c.want); body != want {
			t.Errorf("%s %s:\n %s\nwant\n %s", c.method, c.params, body, want)
		}
	}
	base := "/v1/tasks/" + id + "/pushNotificationConfigs"
	for _, c := range []struct {
		verb, path, body string
		code             int
		want             string
	}{
		{"POST", base, strings.Replace(proto("b"), `"name":"tasks/`+id+`/pushNotificationConfigs/b",`, "", 1), 200, proto("b")},
		{"POST", base, `{"parent":"tasks/` + id + `","configId":"c","config":` + strings.Replace(proto(""), `"id":"",`, "", 1) + `}`, 200, proto("c")},
		{"GET", base + "/b", "", 200, proto("b")},
		{"DELETE", base + "/b", "", 204, ""},
		{"GET", base, "", 200, `{"configs":[` + proto("c") + `]}`},
		{"DELETE", base + "/c", "", 204, ""},
		{"GET", base, "", 200, `{}`},
		{"POST", base, `{}`, 400, `{"code":-32602,"message":"pushNotificationConfig: is missing",`},
	} {
		code, _, body := r.do(t, c.verb, c.path, c.body, []string{key})
		if code != c.code || (body != c.want && (code == 200 || !strings.HasPrefix(body, c.want))) {
			t.Errorf("%s %s %s: %d\n %s\nwant %d\n %s", c.verb, c.path, c.body, code, body, c.code, c.want)
		}
	}
	client, known := oldpb.NewA2AServiceClient(r.conn), oldContext(t, "x-api-key: "+r.operator)
	name := oldTask(id) + "/pushNotificationConfigs/"
	made, err := client.CreateTaskPushNotificationConfig(known, &oldpb.CreateTaskPushNotificationConfigRequest{Parent: oldTask(id), Config: &oldpb.TaskPushNotificationConfig{
		PushNotificationConfig: &oldpb.PushNotificationConfig{Url: "https://hooks.example.com/a", Token: "t"},
	}})
	if err != nil || made.GetName() != name+id {
		t.Fatalf("made %v, %v, want the name %s", made, err, name+id)
	}
	got, err := client.GetTaskPushNotificationConfig(known, &oldpb.GetTaskPushNotificationConfigRequest{Name: made.GetName()})
	if err != nil || got.GetPushNotificationConfig().GetToken() != "t" {
		t.Errorf("got %v, %v", got, err)
	}
	list, err := client.ListTaskPushNotificationConfig(known, &oldpb.ListTaskPushNotificationConfigRequest{Parent: oldTask(id)})
	if err != nil || len(list.GetConfigs()) != 1 {
		t.Errorf("list %v, %v", list, err)
	}
	if _, err := client.DeleteTaskPushNotificationConfig(known, &oldpb.DeleteTaskPushNotificationConfigRequest{Name: made.GetName()}); err != nil {
		t.Error(err)
	}
	list, err = client.ListTaskPushNotificationConfig(known, &oldpb.ListTaskPushNotificationConfigRequest{Parent: oldTask(id)})
	if err != nil || len(list.GetConfigs()) != 0 {
		t.Errorf("after all are deleted the list is %v, %v", list, err)
	}

	// A config may come with the first message.
	body := oldMessage("w1", "work", "")
	_, _, answer := r.post(t, "/rpc", oldCall("message/send", strings.TrimSuffix(body, "}")+`,"configuration":{"pushNotificationConfig":{"id":"w","url":"https://hooks.example.com/b"}}}`), []string{key})
	_, rest, _ := strings.Cut(answer, `"kind":"task","id":"`)
	task, _, _ := strings.Cut(rest, `"`)
	_, _, answer = r.post(t, "/rpc", oldCall("tasks/pushNotificationConfig/list", fmt.Sprintf(`{"id":%q}`, task)), []string{key})
	if want := rpcResult(`[{"pushNotificationConfig":{"id":"w","url":"https://hooks.example.com/b"},"taskId":"` + task + `"}]`); answer != want {
		t.Errorf("config of the first message:\n %s\nwant\n %s", answer, want)
	}
}
