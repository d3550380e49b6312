package kap

import (
	"context"
	"net/http"
)

// TakeForTest counts a request and writes what is left into headers.
func TakeForTest(ctx context.Context, u *Usage, caller string, h http.Header) error {
	l, err := u.take(ctx, caller)
	l.tell(h)
	return err
}
