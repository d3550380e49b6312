package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// memory is the resident memory of the process, MiB.
func (p *process) memory() float64 {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(raw)) {
		if v, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kib, err := strconv.ParseFloat(strings.Fields(v)[0], 64)
			if err != nil {
				return 0
			}
			return kib / 1024
		}
	}
	return 0
}

// cpu is the processor time that the process has used; none of a process that is not known.
func (p *process) cpu() time.Duration {
	if p == nil {
		return 0
	}
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(raw), ") ")
	f := strings.Fields(rest)
	if len(f) < 13 {
		return 0
	}
	user, _ := strconv.ParseInt(f[11], 10, 64)
	system, _ := strconv.ParseInt(f[12], 10, 64)
	const ticks = 100 // USER_HZ on Linux
	return time.Duration(user+system) * time.Second / ticks
}

// idle measures `sabha up` that nobody calls: time to ready, memory, processor.
func (b *bench) idle(ctx context.Context) (err error) {
	dir, err := os.MkdirTemp("", "sabha-bench-idle-")
	if err != nil {
		return err
	}
	sabha, err := filepath.Abs(b.sabha)
	if err != nil {
		return err
	}
	p := &process{dir: dir}
	p.cmd = exec.CommandContext(ctx, sabha, "up", "--data", filepath.Join(dir, "data"), "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0", "--console", "127.0.0.1:0")
	began := time.Now()
	if err := p.launchUp(io.Discard); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	ready := time.Since(began)
	time.Sleep(10 * time.Second)
	before := p.cpu()
	const window = 20 * time.Second
	time.Sleep(window)
	used := p.cpu() - before
	b.line("%-52s %14s", "sabha up: ready in", fmt.Sprintf("%.2f s", ready.Seconds()))
	b.line("%-52s %14s", "sabha up idle: resident memory", fmt.Sprintf("%.0f MiB", p.memory()))
	b.line("%-52s %14s", "sabha up idle: of one core", fmt.Sprintf("%.2f %%", 100*used.Seconds()/window.Seconds()))
	return nil
}

// launchUp starts sabha and waits for its line that says it is ready. What it says
// before goes to said.
func (p *process) launchUp(said io.Writer) error {
	p.cmd.Cancel = func() error { return p.cmd.Process.Signal(os.Interrupt) }
	p.cmd.WaitDelay = 15 * time.Second
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	p.cmd.Stderr = os.Stderr
	if err := p.cmd.Start(); err != nil {
		return err
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		_, _ = fmt.Fprintln(said, lines.Text())
		if strings.Contains(strings.ToLower(lines.Text()), "ready") {
			go func() {
				for lines.Scan() {
					continue
				}
			}()
			return nil
		}
	}
	return errors.New("sabha up ended before it was ready")
}
