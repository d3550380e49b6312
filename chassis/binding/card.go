package binding

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"

	"sabha.dev/chassis/fault"
)

// card serves the public agent card, cacheable (specification 8.6.1).
func (x *exchange) card(tenant string) {
	// Cards are found by clients that speak no A2A yet.
	x.mediaType = typeJSON
	card, err := x.Cards(x.r.Context(), tenant)
	if err == nil && card == nil {
		err = fault.New(fault.UnknownTenant, "there is no agent %q here", tenant)
	}
	if err != nil {
		x.refuse(diagnose(err))
		return
	}
	body, err := x.cardJSON(card)
	if err != nil {
		x.Log.ErrorContext(x.r.Context(), "agent card cannot be encoded", "tenant", tenant, "error", err)
		x.refuse(diagnose(errInternal))
		return
	}
	sum := sha256.Sum256(body)
	etag := `"` + hex.EncodeToString(sum[:16]) + `"`
	header := x.w.Header()
	header.Set("Cache-Control", "public, max-age="+strconv.Itoa(int(x.CardMaxAge.Seconds())))
	header.Set("ETag", etag)
	if unchanged(x.r.Header.Values("If-None-Match"), etag) {
		x.w.WriteHeader(http.StatusNotModified)
		return
	}
	x.send(typeJSON, http.StatusOK, body)
}

func (x *exchange) cardJSON(card *a2apb.AgentCard) (body []byte, err error) {
	if x.Older != nil {
		body, err = x.Older.Card(card)
	} else {
		body, err = appendMessage(nil, card)
	}
	if err != nil || x.SignCard == nil {
		return body, err
	}
	return x.SignCard(body)
}

// unchanged tells whether If-None-Match names the entity; the comparison is the
// weak one (RFC 9110 section 13.1.2).
func unchanged(ifNoneMatch []string, etag string) bool {
	for tag := range strings.SplitSeq(strings.Join(ifNoneMatch, ","), ",") {
		tag = strings.TrimSpace(tag)
		if tag == "*" || strings.TrimPrefix(tag, "W/") == etag {
			return true
		}
	}
	return false
}
