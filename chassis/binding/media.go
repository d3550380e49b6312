package binding

import (
	"mime"
	"strconv"
	"strings"
)

const (
	typeA2A    = "application/a2a+json"
	typeJSON   = "application/json"
	typeStream = "text/event-stream"
)

// mediaType strips the parameters of a Content-Type; it is empty for one that
// cannot be read.
func mediaType(contentType string) string {
	if contentType == typeA2A || contentType == typeJSON {
		return contentType
	}
	t, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		return ""
	}
	return t
}

// acceptedType finds which of A2A's two media types an Accept header (RFC 9110
// section 12.5.1) prefers; at equal weight it is application/a2a+json. It is
// empty when the header names neither: wildcards leave the choice to us.
func acceptedType(accept string) string {
	best, bestWeight := "", 0.0
	for part := range strings.SplitSeq(accept, ",") {
		t, params, err := mime.ParseMediaType(strings.TrimSpace(part))
		if err != nil || (t != typeA2A && t != typeJSON) {
			continue
		}
		weight := 1.0
		if q, ok := params["q"]; ok {
			if weight, err = strconv.ParseFloat(q, 64); err != nil {
				continue
			}
		}
		if weight > bestWeight || (weight == bestWeight && weight > 0 && t == typeA2A) {
			best, bestWeight = t, weight
		}
	}
	return best
}
