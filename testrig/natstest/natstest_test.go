package natstest_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"sabha.dev/testrig/natstest"
)

func stream(t *testing.T, conn *nats.Conn, replicas int) jetstream.JetStream {
	t.Helper()
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	_, err = js.CreateStream(t.Context(), jetstream.StreamConfig{
		Name: "EVENTS", Subjects: []string{"events.>"}, Storage: jetstream.FileStorage, Replicas: replicas,
	})
	if err != nil {
		t.Fatal(err)
	}
	return js
}

// publish sends one message and waits until the log has confirmed it, also
// while the client is still finding its way to a server.
func publish(t *testing.T, js jetstream.JetStream, text string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		_, err := js.Publish(ctx, "events.task", []byte(text), jetstream.WithMsgID(text))
		if err == nil {
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("publish %q: %v", text, err)
		}
	}
}

// texts reads the first n messages of the stream, in order.
func texts(t *testing.T, js jetstream.JetStream, n int) string {
	t.Helper()
	consumer, err := js.OrderedConsumer(t.Context(), "EVENTS", jetstream.OrderedConsumerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for range n {
		msg, err := consumer.Next(jetstream.FetchMaxWait(time.Minute))
		if err != nil {
			t.Fatalf("after %q: %v", got, err)
		}
		got = append(got, string(msg.Data()))
	}
	return strings.Join(got, " ")
}

func TestRestartKeepsPortAndStore(t *testing.T) {
	server := natstest.New(t)
	before := server.URL()
	js := stream(t, server.Connect(t), 1)
	publish(t, js, "one")

	server.Stop()
	server.Stop() // a second stop changes nothing
	if _, err := nats.Connect(server.URL()); err == nil {
		t.Fatal("a stopped server accepted a connection")
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	if server.URL() != before {
		t.Fatalf("URL after restart %q, want %q", server.URL(), before)
	}
	publish(t, js, "two")
	if got := texts(t, js, 2); got != "one two" {
		t.Fatalf("the stream holds %q, want %q", got, "one two")
	}
}

func TestStartingARunningServerIsRefused(t *testing.T) {
	server := natstest.New(t)
	if err := server.Start(); err == nil {
		t.Fatal("a running server was started a second time")
	}
	server.Connect(t) // and still serves
}

func TestServersOfOneTestDoNotMeet(t *testing.T) {
	a, b := natstest.New(t), natstest.New(t)
	stream(t, a.Connect(t), 1)
	js, err := jetstream.New(b.Connect(t))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.Stream(t.Context(), "EVENTS"); err == nil {
		t.Fatal("a stream of one server is visible on the other")
	}
}

func TestClusterSurvivesTheLossOfAServer(t *testing.T) {
	cluster := natstest.NewCluster(t)
	js := stream(t, cluster.Connect(t), 3)
	publish(t, js, "one")

	cluster.Servers[0].Stop()
	if err := cluster.AwaitLeader(); err != nil {
		t.Fatal(err)
	}
	publish(t, js, "two")

	if err := cluster.Servers[0].Start(); err != nil {
		t.Fatal(err)
	}
	publish(t, js, "three")
	if got := texts(t, js, 3); got != "one two three" {
		t.Fatalf("the stream holds %q, want %q", got, "one two three")
	}
}
