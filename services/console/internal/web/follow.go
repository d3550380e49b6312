package web

import (
	"context"

	"sabha.dev/services/console/internal/live"
)

// Follow reads pages at once that show what a source says has changed, until ctx ends.
func (s *Site) Follow(ctx context.Context, f live.Followed) { s.hub.Follow(ctx, f, s.log) }
