package research_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sabha.dev/chassis/service"
	"sabha.dev/services/research"
)

func TestAChangeInAWatchedFolderIsFoundWhileServing(t *testing.T) {
	dir := t.TempDir()
	c := config(t, dir)
	c.Watch = 10 * time.Millisecond
	p := start(t, c)
	path := filepath.Join(dir, "rates.csv")
	if err := os.WriteFile(path, []byte("product,espresso descaling fee\nmachine,12 euros\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	answer := func(want func(string) bool) {
		t.Helper()
		deadline := time.Now().Add(time.Minute)
		for {
			res, err := p.client.SendMessage(p.as(t, ""), request("m"+time.Now().String(), "search", "espresso descaling fee"))
			if err != nil {
				t.Fatal(err)
			}
			text := res.GetMessage().GetParts()[0].GetText()
			if want(text) {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("still %q", text)
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
	answer(func(s string) bool { return strings.HasPrefix(s, "Extracted 1") })
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	answer(func(s string) bool { return strings.HasPrefix(s, "Extracted 0") })
}

func TestWatchingNothingFailsTheStart(t *testing.T) {
	env, _ := environment(t)
	c := config(t, "")
	c.Watch = time.Second
	if _, err := service.Start(t.Context(), research.New(c), env); err == nil || !strings.Contains(err.Error(), "watch: give a positive period and the folder to watch (documents)") {
		t.Errorf("got %v", err)
	}
}
