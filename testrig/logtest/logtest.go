// Package logtest keeps what a program writes, for tests that read it meanwhile.
package logtest

import (
	"bytes"
	"sync"
)

// Buffer keeps what is written to it. It may be written and read at the same time;
// its zero value is empty.
type Buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write adds to what is kept. It does not fail.
func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

// String gives what has been written so far.
func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
