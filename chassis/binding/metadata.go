package binding

import (
	"net/http"
	"net/url"
	"strings"

	"google.golang.org/grpc/metadata"

	"sabha.dev/chassis/ext"
	"sabha.dev/chassis/fault"
)

// forwarded lists the headers that reach the agent, each under its lower-case
// name. Everything else stops here: a client must not be able to write
// metadata that services of the platform trust.
var forwarded = []string{
	"Authorization",
	"X-API-Key",
	"Traceparent",
	"Tracestate",
}

// callMetadata is the gRPC metadata of a request.
func callMetadata(r *http.Request, k kind) (metadata.MD, error) {
	md := metadata.MD{}
	set := func(header, key, value string) error {
		if value == "" {
			return nil
		}
		if !printable(value) {
			return fault.Invalid("header "+header, "only printable ASCII characters are allowed")
		}
		md.Set(key, value)
		return nil
	}
	for _, header := range forwarded {
		if err := set(header, strings.ToLower(header), r.Header.Get(header)); err != nil {
			return nil, err
		}
	}
	if err := set("A2A-Version", ext.MetadataVersion, version(r)); err != nil {
		return nil, err
	}
	// Several header lines mean the same as one with commas (specification 11.2).
	extensions := strings.Join(r.Header.Values("A2A-Extensions"), ",")
	if err := set("A2A-Extensions", ext.MetadataExtensions, extensions); err != nil {
		return nil, err
	}
	if k == subscribeKind {
		if err := set("Last-Event-ID", ext.MetadataCursor, r.Header.Get("Last-Event-ID")); err != nil {
			return nil, err
		}
	}
	return md, nil
}

// version is the protocol version a client names in the header, or else in the
// query (specification 3.6.1).
func version(r *http.Request) string {
	if v := r.Header.Get("A2A-Version"); v != "" {
		return v
	}
	if r.URL.RawQuery == "" {
		return ""
	}
	// What cannot be read of the query is reported where its fields are.
	values, _ := url.ParseQuery(r.URL.RawQuery)
	for name, v := range values {
		if strings.EqualFold(name, "A2A-Version") && len(v) > 0 {
			return v[0]
		}
	}
	return ""
}

// printable tells whether gRPC takes s as an ASCII metadata value.
func printable(s string) bool {
	for i := range len(s) {
		if s[i] < 0x20 || s[i] > 0x7e {
			return false
		}
	}
	return true
}
