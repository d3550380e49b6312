package remote

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
)

const eventStream = "text/event-stream"

// events reads a stream of server-sent events and gives the data of each (HTML, section
// 9.2). limit bounds the data of one, bytes. An event that the end cut off does not count.
func events(ctx context.Context, body io.Reader, limit int, each func([]byte) error) error {
	r := bufio.NewReader(body)
	var data []byte
	any := false
	tooLong := failure(TooLarge, "an event of the partner's stream is longer than it may be")
	for {
		line, err := readLine(r, limit)
		switch {
		case errors.Is(err, io.EOF):
			if any || len(line) > 0 {
				return failure(Unreachable, "the partner's stream broke off in the middle of an event")
			}
			return nil
		case errors.Is(err, errLong):
			return tooLong
		case err != nil:
			return broken(ctx, err)
		}
		if len(line) == 0 {
			if any {
				if err := each(data); err != nil {
					return err
				}
			}
			data, any = nil, false
			continue
		}
		value, ok := bytes.CutPrefix(line, []byte("data:"))
		if !ok {
			continue
		}
		value = bytes.TrimPrefix(value, []byte(" "))
		if len(data)+len(value) > limit {
			return tooLong
		}
		if any {
			data = append(data, '\n')
		}
		data, any = append(data, value...), true
	}
}

var errLong = errors.New("the line is too long")

// readLine reads a line without its end: a line feed, with or without a carriage return.
func readLine(r *bufio.Reader, limit int) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if len(line)+len(part) > limit+len("data: \r\n") {
			return nil, errLong
		}
		line = append(line, part...)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil {
			return line, err
		}
		return bytes.TrimSuffix(line[:len(line)-1], []byte("\r")), nil
	}
}
