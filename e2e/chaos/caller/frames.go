package caller

import (
	"bufio"
	"bytes"
	"context"
	"io"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
)

// frames reads a text/event-stream.
type frames struct {
	lines *bufio.Reader
	read  func([]byte) (*a2apb.StreamResponse, error)
}

func newFrames(ctx context.Context, body io.ReadCloser, read func([]byte) (*a2apb.StreamResponse, error)) *frames {
	context.AfterFunc(ctx, func() { _ = body.Close() })
	return &frames{bufio.NewReader(body), read}
}

// Next reads up to the next frame with data; comments are skipped.
func (f *frames) Next() (*a2apb.StreamResponse, error) {
	var data []byte
	for {
		line, err := f.lines.ReadBytes('\n')
		if err != nil {
			return nil, err
		}
		line = bytes.TrimRight(line, "\r\n")
		switch {
		case len(line) == 0 && len(data) > 0:
			return f.read(data)
		case bytes.HasPrefix(line, []byte("data:")):
			data = append(data, bytes.TrimPrefix(line[len("data:"):], []byte(" "))...)
		}
	}
}
