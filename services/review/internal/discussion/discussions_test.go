package discussion_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/proto"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/ext"
	"sabha.dev/chassis/fault"
	reviewv1 "sabha.dev/gen/sabha/review/v1"
)

const (
	working   = a2apb.TaskState_TASK_STATE_WORKING
	completed = a2apb.TaskState_TASK_STATE_COMPLETED
	canceled  = a2apb.TaskState_TASK_STATE_CANCELED
)

func TestAQuestionNeedsACallerWhoDoesNotWait(t *testing.T) {
	onBothEngines(t, func(t *testing.T, f *forum) {
		alice := f.as("alice", "acme")
		_, err := f.ask(alice, "q1", false, agent.Text("Who knows the parcel?"))
		if refusal(err) != fault.UnsupportedOperation || !strings.Contains(err.Error(), "configuration.returnImmediately") {
			t.Errorf("waiting: %v, want UNSUPPORTED_OPERATION that says what to set", err)
		}
		stream, err := f.agent.SendStreamingMessage(alice, &a2apb.SendMessageRequest{Message: &a2apb.Message{
			MessageId: "q2", Role: a2apb.Role_ROLE_USER, Parts: []*a2apb.Part{agent.Text("Who knows?")},
		}})
		if err == nil {
			_, err = stream.Recv()
		}
		if refusal(err) != fault.UnsupportedOperation {
			t.Errorf("streaming without it: %v, want UNSUPPORTED_OPERATION", err)
		}
		if list := f.list(alice, &reviewv1.ListDiscussionsRequest{}); len(list) != 0 {
			t.Errorf("a refused question is on the board: %v", list)
		}
	})
}

func TestQuestionsThatSayNothingAreRefused(t *testing.T) {
	f := newForum(t, "sqlite:"+t.TempDir()+"/review.db")
	alice := f.as("alice", "acme")
	for what, c := range map[string]struct{ data, want string }{
		"no text":    {`{"question": "  "}`, "asks nothing"},
		"a slip":     {`{"qestion": "x"}`, "qestion"},
		"a tag":      {`{"question": "x", "tags": [""]}`, "tags[0]"},
		"a long one": {`{"question": "` + strings.Repeat("x", 17000) + `"}`, "16384 at most"},
		"an action":  {`{"question": "x", "action": "search"}`, "ask-network"},
	} {
		if _, err := f.ask(alice, what, true, data(t, c.data)); refusal(err) != fault.InvalidArgument || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", what, err, c.want)
		}
	}
	if _, err := f.ask(f.as("", ""), "anonymous", true, agent.Text("x")); refusal(err) != fault.Unauthenticated {
		t.Errorf("anonymous: %v, want UNAUTHENTICATED", err)
	}
}

func TestTheFirstReplyOfAnotherCompletesTheTaskAtItsTime(t *testing.T) {
	onBothEngines(t, func(t *testing.T, f *forum) {
		alice, bob, carol := f.as("alice", "acme"), f.as("bob", "acme", "viewer"), f.as("carol", "acme", "reviewer")
		part := data(t, `{"action": "ask-network", "title": "Zones", "question": "Why did parcel 17 change?", "tags": ["maps"]}`)
		first, err := f.ask(alice, "q1", true, part)
		if err != nil {
			t.Fatal(err)
		}
		id := first.GetId()
		f.until(func() bool { return len(f.list(bob, &reviewv1.ListDiscussionsRequest{Waiting: true})) == 1 })
		if wait := f.task(alice, id).GetMetadata().GetFields()[ext.Wait].GetStructValue().AsMap(); wait["for"] != "person" {
			t.Errorf("the task says that it waits for %v", wait)
		}

		own := f.reply(alice, id, "To be clear: parcel 17 in the north.")
		if state := f.task(alice, id).GetStatus().GetState(); state != working || own.GetNumber() != 1 {
			t.Errorf("after the author's own reply %d: %s, want WORKING", own.GetNumber(), state)
		}
		reply := f.reply(bob, id, "The dyke was raised in 2025.")
		task := f.task(alice, id)
		if task.GetStatus().GetState() != completed || !proto.Equal(task.GetStatus().GetTimestamp(), reply.GetAt()) {
			t.Errorf("the task is %v; want COMPLETED at %v, when the reply was made", task.GetStatus(), reply.GetAt())
		}
		if got := agent.TextOf(task.GetStatus().GetMessage().GetParts()); got != "The dyke was raised in 2025." {
			t.Errorf("the closing message says %q", got)
		}
		artifact := task.GetArtifacts()[0]
		label := artifact.GetParts()[0].GetMetadata().GetFields()[ext.Labels].GetStructValue().AsMap()
		if artifact.GetParts()[0].GetText() != "The dyke was raised in 2025." || artifact.GetMetadata().AsMap()["author"] != "acme/bob" || label["integrity"] != "untrusted" {
			t.Errorf("artifact %v", artifact)
		}
		f.reply(carol, id, "And the map was redrawn.")
		if again := f.task(alice, id); !proto.Equal(again, task) {
			t.Errorf("a later reply changed the task:\n%v\n%v", task, again)
		}

		got := f.get(alice, id)
		d := got.GetDiscussion()
		var said []string
		for _, r := range got.GetReplies() {
			said = append(said, fmt.Sprintf("%d %s", r.GetNumber(), r.GetAuthor()))
		}
		if want := []string{"1 acme/alice", "2 acme/bob", "3 acme/carol"}; !slices.Equal(said, want) || d.GetTitle() != "Zones" || d.GetReplyCount() != 3 ||
			d.GetUnread() != 2 || d.GetState() != "TASK_STATE_COMPLETED" || !slices.Equal(d.GetTags(), []string{"maps"}) || d.GetAuthor() != "acme/alice" {
			t.Errorf("discussion %v with %v", d, said)
		}
		if _, err := f.agent.CancelTask(alice, &a2apb.CancelTaskRequest{Id: id}); refusal(err) != fault.TaskNotCancelable {
			t.Errorf("cancel of a completed question: %v, want TASK_NOT_CANCELABLE", err)
		}
	})
}

func TestReadingAndAcknowledgingChangeNoTaskAndNoOrder(t *testing.T) {
	onBothEngines(t, func(t *testing.T, f *forum) {
		alice, bob := f.as("alice", "acme"), f.as("bob", "acme", "viewer")
		one, two := f.asked(alice, "q1", "First?"), f.asked(alice, "q2", "Second?")
		f.reply(bob, one, "Yes.")
		f.reply(alice, two, "Anybody?")
		tasks := func() *a2apb.ListTasksResponse {
			t.Helper()
			res, err := f.agent.ListTasks(alice, &a2apb.ListTasksRequest{})
			if err != nil {
				t.Fatal(err)
			}
			return res
		}
		before := tasks()
		if before.GetTasks()[0].GetId() != one {
			t.Errorf("the task that was completed last is not the first")
		}
		order := f.list(alice, &reviewv1.ListDiscussionsRequest{})
		if inbox := f.list(alice, &reviewv1.ListDiscussionsRequest{Unread: true}); !slices.Equal(inbox, []string{one}) {
			t.Errorf("alice's inbox %v, want the reply of another", inbox)
		}
		if inbox := f.list(bob, &reviewv1.ListDiscussionsRequest{Unread: true}); len(inbox) != 0 {
			t.Errorf("bob's inbox %v, want none: he takes no part in the second", inbox)
		}
		for range 2 {
			if _, err := f.talk.Acknowledge(alice, &reviewv1.AcknowledgeRequest{Id: one, UpTo: 1}); err != nil {
				t.Fatal(err)
			}
		}
		if inbox := f.list(alice, &reviewv1.ListDiscussionsRequest{Unread: true}); len(inbox) != 0 || f.get(alice, one).GetDiscussion().GetUnread() != 0 {
			t.Errorf("after she took note: %v", inbox)
		}
		if after := tasks(); !proto.Equal(before, after) {
			t.Errorf("the tasks changed:\n%v\n%v", before, after)
		}
		if after := f.list(alice, &reviewv1.ListDiscussionsRequest{}); !slices.Equal(order, after) || after[0] != two {
			t.Errorf("the order %v became %v; want the newest activity first", order, after)
		}
		for _, n := range []int32{0, 2} {
			if _, err := f.talk.Acknowledge(alice, &reviewv1.AcknowledgeRequest{Id: one, UpTo: n}); refusal(err) != fault.InvalidArgument {
				t.Errorf("taking note of reply %d of 1: %v", n, err)
			}
		}
	})
}

func TestCancellingIsIdempotentAndKeepsTheDiscussion(t *testing.T) {
	onBothEngines(t, func(t *testing.T, f *forum) {
		alice, bob := f.as("alice", "acme"), f.as("bob", "acme", "operator")
		id := f.asked(alice, "q1", "Still needed?")
		var first *a2apb.Task
		for n := range 3 {
			task, err := f.agent.CancelTask(alice, &a2apb.CancelTaskRequest{Id: id})
			if err != nil || task.GetStatus().GetState() != canceled {
				t.Fatalf("cancel %d: %v %v", n, task.GetStatus(), err)
			}
			if first == nil {
				first = task
			} else if !proto.Equal(first, task) {
				t.Errorf("cancel %d changed the task", n)
			}
		}
		reply := f.reply(bob, id, "For the record: no.")
		if task := f.task(alice, id); !proto.Equal(task.GetStatus(), first.GetStatus()) {
			t.Errorf("a reply changed a canceled task: %v", task.GetStatus())
		}
		got := f.get(alice, id)
		if got.GetDiscussion().GetState() != "TASK_STATE_CANCELED" || len(got.GetReplies()) != 1 || !proto.Equal(got.GetReplies()[0], reply) {
			t.Errorf("the discussion: %v", got)
		}
		if waiting := f.list(bob, &reviewv1.ListDiscussionsRequest{Waiting: true}); len(waiting) != 0 {
			t.Errorf("still waiting: %v", waiting)
		}
	})
}

func TestAReplyAndACancelThatRaceGiveOneOfThem(t *testing.T) {
	onBothEngines(t, func(t *testing.T, f *forum) {
		alice, bob := f.as("alice", "acme"), f.as("bob", "acme", "viewer")
		for n := range 10 {
			id := f.asked(alice, fmt.Sprint("q", n), "Quick?")
			var both sync.WaitGroup
			var cancelErr error
			both.Go(func() { _, cancelErr = f.agent.CancelTask(alice, &a2apb.CancelTaskRequest{Id: id}) })
			both.Go(func() { f.reply(bob, id, "Yes.") })
			both.Wait()
			state := f.task(alice, id).GetStatus().GetState()
			if won := cancelErr == nil; won != (state == canceled) || !won && (state != completed || refusal(cancelErr) != fault.TaskNotCancelable) {
				t.Errorf("the task is %s and the cancel said %v", state, cancelErr)
			}
			if got := f.get(alice, id); len(got.GetReplies()) != 1 {
				t.Errorf("replies %v", got.GetReplies())
			}
		}
	})
}

func TestDiscussionsAreForPeopleOfTheSameOrganisation(t *testing.T) {
	onBothEngines(t, func(t *testing.T, f *forum) {
		alice := f.as("alice", "acme")
		id := f.asked(alice, "q1", "Internal?")
		for what, c := range map[string]struct {
			subject, organisation, scope string
			read, reply                  fault.Reason
		}{
			"another organisation":  {"eve", "rival", "admin", fault.TaskNotFound, fault.TaskNotFound},
			"a client without role": {"robot", "acme", "", fault.TaskNotFound, fault.TaskNotFound},
			"nobody":                {"", "", "", fault.Unauthenticated, fault.Unauthenticated},
			"an auditor":            {"ann", "acme", "auditor", "", fault.PermissionDenied},
		} {
			who := f.as(c.subject, c.organisation, c.scope)
			if _, err := f.talk.GetDiscussion(who, &reviewv1.GetDiscussionRequest{Id: id}); refusal(err) != c.read {
				t.Errorf("%s reads: %v, want %q", what, err, c.read)
			}
			if _, err := f.talk.Reply(who, &reviewv1.ReplyRequest{Id: id, Text: "hello"}); refusal(err) != c.reply {
				t.Errorf("%s replies: %v, want %q", what, err, c.reply)
			}
			if c.subject == "" {
				continue
			}
			want := 0
			if c.read == "" {
				want = 1
			}
			if list := f.list(who, &reviewv1.ListDiscussionsRequest{}); len(list) != want {
				t.Errorf("%s lists %v", what, list)
			}
		}
		if got := f.get(alice, id); len(got.GetReplies()) != 0 || f.task(alice, id).GetStatus().GetState() != working {
			t.Errorf("a refused reply has left something: %v", got)
		}
		_, missing := f.talk.GetDiscussion(alice, &reviewv1.GetDiscussionRequest{Id: "none"})
		_, foreign := f.talk.GetDiscussion(f.as("eve", "rival", "admin"), &reviewv1.GetDiscussionRequest{Id: id})
		if strings.ReplaceAll(missing.Error(), "none", id) != foreign.Error() {
			t.Errorf("a missing discussion and a foreign one differ:\n%v\n%v", missing, foreign)
		}
	})
}

func TestRepliesThatSayNothingOrComeTwice(t *testing.T) {
	f := newForum(t, "sqlite:"+t.TempDir()+"/review.db")
	alice, bob := f.as("alice", "acme"), f.as("bob", "acme", "viewer")
	id := f.asked(alice, "q1", "Anything?")
	for _, text := range []string{"", " \n", strings.Repeat("x", 17000), "a\x00b"} {
		if _, err := f.talk.Reply(bob, &reviewv1.ReplyRequest{Id: id, Text: text}); refusal(err) != fault.InvalidArgument {
			t.Errorf("reply %.10q: %v", text, err)
		}
	}
	one := f.reply(bob, id, "Something.")
	if two := f.reply(bob, id, "Something."); !proto.Equal(one, two) {
		t.Errorf("the same reply sent again is %v, want %v", two, one)
	}
	if other := f.reply(f.as("carol", "acme", "viewer"), id, "Something."); other.GetNumber() != 2 {
		t.Errorf("the same words of another: %v", other)
	}
}

func TestAFurtherMessageOfTheAuthorIsPartOfTheDiscussion(t *testing.T) {
	onBothEngines(t, func(t *testing.T, f *forum) {
		alice := f.as("alice", "acme")
		id := f.asked(alice, "q1", "Where?")
		for n, text := range []string{"In the north.", "Near the river."} {
			_, err := f.agent.SendMessage(alice, &a2apb.SendMessageRequest{
				Message:       &a2apb.Message{MessageId: fmt.Sprint("m", n), TaskId: id, Role: a2apb.Role_ROLE_USER, Parts: []*a2apb.Part{agent.Text(text)}},
				Configuration: &a2apb.SendMessageConfiguration{ReturnImmediately: true},
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		f.until(func() bool { return len(f.get(alice, id).GetReplies()) == 2 })
		got := f.get(alice, id).GetReplies()
		if got[0].GetText() != "In the north." || got[1].GetText() != "Near the river." || got[1].GetNumber() != 2 {
			t.Errorf("replies %v", got)
		}
		if state := f.task(alice, id).GetStatus().GetState(); state != working {
			t.Errorf("the task is %s, want WORKING", state)
		}
	})
}

func TestTheListHasPages(t *testing.T) {
	onBothEngines(t, func(t *testing.T, f *forum) {
		alice, bob := f.as("alice", "acme"), f.as("bob", "acme", "viewer")
		var want []string
		for n := range 7 {
			want = slices.Insert(want, 0, f.asked(alice, fmt.Sprint("q", n), fmt.Sprint("Question ", n, "?")))
		}
		mine := f.asked(bob, "b", "And mine?")
		if got := f.list(bob, &reviewv1.ListDiscussionsRequest{Mine: true}); !slices.Equal(got, []string{mine}) {
			t.Errorf("bob's own: %v", got)
		}
		want = slices.Insert(want, 0, mine)
		var got []string
		req := &reviewv1.ListDiscussionsRequest{PageSize: 3}
		for pages := 1; ; pages++ {
			res, err := f.talk.ListDiscussions(bob, req)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range res.GetDiscussions() {
				got = append(got, d.GetId())
			}
			if req.PageToken = res.GetNextPageToken(); req.PageToken == "" || pages > 5 {
				break
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("pages give %v, want %v", got, want)
		}
		for _, bad := range []*reviewv1.ListDiscussionsRequest{{PageSize: 101}, {PageSize: -1}, {PageToken: "x"}, {PageToken: "eA"}} {
			if _, err := f.talk.ListDiscussions(bob, bad); refusal(err) != fault.InvalidArgument {
				t.Errorf("%v: %v", bad, err)
			}
		}
	})
}

func data(t testing.TB, text string) *a2apb.Part {
	t.Helper()
	p, err := agent.Data(json.RawMessage(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}
