package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sabha.dev/testrig/consoletest"
)

// Of pages: so many requests are there, so often is each page read, so many are
// open, and so many requests come while they are.
const (
	there   = 100
	reads   = 200
	open    = 50
	happens = 50
)

// pages measures the console of `sabha up`: how long the server takes for each page,
// read one after the other, and how long after a client has sent its request each of
// many open pages has it.
func (b *bench) pages(ctx context.Context) (err error) {
	c, err := b.console(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.stop()) }()
	task := ""
	for range there {
		if task, err = c.ask(ctx); err != nil {
			return err
		}
	}
	b.line("%-52s %14s %14s %10s", fmt.Sprintf("page of the console, with %d requests", there), "p50", "p95", "bytes")
	for _, path := range []string{
		"/", "/tasks", "/tasks/" + task, "/tasks/" + task + "/timeline", "/tasks/" + task + "/content", "/tasks/" + task + "/events",
		"/review", "/questions", "/playbooks", "/playbooks/general", "/agents", "/playground",
	} {
		took := make([]time.Duration, reads)
		size := 0
		for i := range took {
			began := time.Now()
			body, err := c.read(ctx, path)
			if err != nil {
				return err
			}
			took[i], size = time.Since(began), len(body)
		}
		slices.Sort(took)
		b.line("%-52s %14s %14s %10d", "  "+strings.ReplaceAll(path, task, "ID"), ms(took[len(took)/2]), ms(took[len(took)*95/100]), size)
	}
	return c.live(ctx, b)
}

func ms(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond)) }

// signedIn is a platform with its console, where somebody has signed in.
type signedIn struct {
	*process
	web          *http.Client
	console, api string
	key          string
}

// console starts `sabha up` and signs in.
func (b *bench) console(ctx context.Context) (*signedIn, error) {
	dir, err := os.MkdirTemp("", "sabha-bench-console-")
	if err != nil {
		return nil, err
	}
	sabha, err := filepath.Abs(b.sabha)
	if err != nil {
		return nil, err
	}
	c := &signedIn{process: &process{dir: dir}}
	for _, a := range []*string{&c.console, &c.api} {
		if *a, err = freeAddress(); err != nil {
			return nil, err
		}
	}
	c.cmd = exec.CommandContext(ctx, sabha, "up", "--data", filepath.Join(dir, "data"), "--http", c.api, "--grpc", "127.0.0.1:0", "--console", c.console)
	var said bytes.Buffer
	if err := c.launchUp(&said); err != nil {
		return nil, err
	}
	after := func(prefix string) string {
		_, rest, _ := strings.Cut(said.String(), prefix)
		word, _, _ := strings.Cut(rest, "\n")
		return strings.TrimSpace(word)
	}
	c.console, c.api, c.key = "http://"+c.console, "http://"+c.api, after("export SABHA_KEY=")
	if c.web, err = consoletest.Client(ctx, http.DefaultTransport, c.console, "admin", after("  Password  ")); err != nil {
		return nil, errors.Join(err, c.stop())
	}
	return c, nil
}

// read gets a page as a browser gets it, compressed.
func (c *signedIn) read(ctx context.Context, path string) ([]byte, error) {
	res, err := c.get(ctx, path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", path, res.Status)
	}
	return io.ReadAll(res.Body)
}

func (c *signedIn) get(ctx context.Context, path string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.console+path, nil)
	if err != nil {
		return nil, err
	}
	if !strings.HasPrefix(path, "/events") {
		req.Header.Set("Accept-Encoding", "gzip") // set by hand, it is not unpacked
	}
	return c.web.Do(req)
}

// ask sends a request to the planner and returns its task as soon as it is accepted.
func (c *signedIn) ask(ctx context.Context) (string, error) {
	id := fmt.Sprint(time.Now().UnixNano())
	body := `{"message":{"messageId":"` + id + `","role":"ROLE_USER","parts":[{"text":"request ` + id + `"}]},"configuration":{"returnImmediately":true}}`
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.api+"/message:send", strings.NewReader(body))
	if err != nil {
		return "", err
	}
	for name, value := range map[string]string{"Content-Type": "application/json", "A2A-Version": "1.0", "X-API-Key": c.key} {
		req.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer func() { _ = res.Body.Close() }()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		return "", err
	}
	_, rest, _ := strings.Cut(string(raw), `"task":{"id":"`)
	task, _, found := strings.Cut(rest, `"`)
	if !found {
		return "", fmt.Errorf("the planner did not take a request: %s %s", res.Status, raw)
	}
	return task, nil
}

// live measures how soon many open pages show what happens: half of them on one
// address, each of the others on one of its own.
func (c *signedIn) live(ctx context.Context, b *bench) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	pages := make([]chan string, open)
	for i := range pages {
		address := "/tasks"
		if i >= open/2 {
			address = fmt.Sprintf("/tasks?page=%d", i)
		}
		res, err := c.get(ctx, "/events?watch="+address)
		if err != nil {
			return err
		}
		defer func() { _ = res.Body.Close() }()
		pages[i] = make(chan string, 1024)
		go func() {
			defer close(pages[i])
			lines := bufio.NewScanner(res.Body)
			lines.Buffer(nil, 4<<20)
			for lines.Scan() {
				for part := range strings.SplitSeq(lines.Text(), `id="task-`) {
					id, _, _ := strings.Cut(part, `"`)
					select {
					case pages[i] <- id:
					default: // it is not waited for any more
					}
				}
			}
		}()
	}
	var took []time.Duration
	for range happens {
		began := time.Now()
		task, err := c.ask(ctx)
		if err != nil {
			return err
		}
		for _, page := range pages {
			if err := shown(page, task); err != nil {
				return err
			}
			took = append(took, time.Since(began))
		}
		time.Sleep(200 * time.Millisecond) // what the request does next is shown too, and is not measured
	}
	slices.Sort(took)
	b.line("%-52s %14s", fmt.Sprintf("request to each of %d open pages, p50", open), ms(took[len(took)/2]))
	b.line("%-52s %14s", "  p95", ms(took[len(took)*95/100]))
	b.line("%-52s %14s", "  longest", ms(took[len(took)-1]))
	return nil
}

// shown waits until a page shows a task.
func shown(page <-chan string, task string) error {
	late := time.After(time.Minute)
	for {
		select {
		case id, ok := <-page:
			if !ok {
				return errors.New("the stream of a page has ended")
			}
			if id == task {
				return nil
			}
		case <-late:
			return fmt.Errorf("the task %s is not on every page", task)
		}
	}
}
