package fleet

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
)

// Sample is what a process uses.
type Sample struct {
	// RSS in bytes.
	RSS                         float64
	Goroutines, FileDescriptors float64
}

var replicaLabel = regexp.MustCompile(`[{,]replica="([^"]+)"`)

// metrics reads the metrics page of a process, line by line.
func (p *Process) metrics(ctx context.Context, each func(line string)) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.HTTP+"/metrics", nil)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("metrics of %s: %s", p.Name, res.Status)
	}
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() {
		each(lines.Text())
	}
	return lines.Err()
}

// Replica is the id under which the process owns tasks.
func (p *Process) Replica(ctx context.Context) (id string, err error) {
	err = p.metrics(ctx, func(line string) {
		if m := replicaLabel.FindStringSubmatch(line); m != nil {
			id = m[1]
		}
	})
	if err == nil && id == "" {
		err = fmt.Errorf("the metrics of %s name no replica", p.Name)
	}
	return id, err
}

// Sample reads what the process uses now.
func (p *Process) Sample(ctx context.Context) (s Sample, err error) {
	fields := map[string]*float64{
		"process_resident_memory_bytes": &s.RSS, "go_goroutines": &s.Goroutines, "process_open_fds": &s.FileDescriptors,
	}
	found := 0
	err = p.metrics(ctx, func(line string) {
		name, value, _ := strings.Cut(line, " ")
		if into, ok := fields[name]; ok {
			if v, err := strconv.ParseFloat(value, 64); err == nil {
				*into = v
				found++
			}
		}
	})
	if err == nil && found != len(fields) {
		err = fmt.Errorf("the metrics of %s have %d of %d figures", p.Name, found, len(fields))
	}
	return s, err
}

// FromProc reads what a process without such metrics uses: resident memory in
// bytes, and file descriptors.
func (p *Process) FromProc() (rss, descriptors float64, err error) {
	dir := fmt.Sprintf("/proc/%d/", p.PID())
	status, err := os.ReadFile(dir + "statm")
	if err != nil {
		return 0, 0, err
	}
	var size, pages float64
	if _, err := fmt.Sscan(string(status), &size, &pages); err != nil {
		return 0, 0, err
	}
	open, err := os.ReadDir(dir + "fd")
	return pages * float64(os.Getpagesize()), float64(len(open)), err
}
