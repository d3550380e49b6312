package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"
)

// sample is a notification as it arrived at the receiver.
type sample struct {
	URL    string
	Header http.Header
	Body   []byte
}

// bare measures what a bare client posts.
func (b *bench) bare(ctx context.Context, r *receiver) (_ delivery, err error) {
	dir, err := os.MkdirTemp("", "sabha-bench-")
	if err != nil {
		return delivery{}, err
	}
	p := &process{dir: dir}
	raw, err := json.Marshal(r.sample.Load())
	file := filepath.Join(dir, "sample.json")
	if err = errors.Join(err, os.WriteFile(file, raw, 0o600)); err != nil {
		return delivery{}, err
	}
	self, err := os.Executable()
	if err != nil {
		return delivery{}, err
	}
	p.cmd = exec.CommandContext(ctx, self, "post", "-sample", file)
	if err := p.launch(); err != nil {
		return delivery{}, err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	if err := pause(ctx, b.length/5); err != nil {
		return delivery{}, err
	}
	return r.measure(p, func() error { return pause(ctx, b.length) })
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// post posts a sample again and again until ctx ends, as a bare HTTP client does, in a
// process of its own.
func post(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("post", flag.ContinueOnError)
	file := flags.String("sample", "", "the file with what to post")
	if err := flags.Parse(args); err != nil {
		return err
	}
	raw, err := os.ReadFile(*file)
	if err != nil {
		return err
	}
	var s sample
	if err := json.Unmarshal(raw, &s); err != nil {
		return err
	}
	c := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: posts}}
	fmt.Println("ready")
	var posting errgroup.Group
	for range posts {
		posting.Go(func() error {
			for ctx.Err() == nil {
				if err := s.post(ctx, c); err != nil && ctx.Err() == nil {
					return err
				}
			}
			return nil
		})
	}
	return posting.Wait()
}

func (s *sample) post(ctx context.Context, c *http.Client) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL, bytes.NewReader(s.Body))
	if err != nil {
		return err
	}
	for name, values := range s.Header {
		req.Header[name] = values
	}
	resp, err := c.Do(req)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return errors.Join(err, resp.Body.Close())
}
