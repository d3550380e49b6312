package binding

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"unicode/utf8"

	"sabha.dev/chassis/fault"
)

// maxDepth bounds how deep the JSON of a request may nest.
const maxDepth = 100

// readBody reads a request body whole. It refuses one that is too large, is not
// declared as JSON, is not UTF-8 or nests too deep.
func (x *exchange) readBody() ([]byte, error) {
	if x.r.ContentLength > x.MaxBody {
		x.w.Header().Set("Connection", "close")
		return nil, x.tooLarge()
	}
	var buf bytes.Buffer
	if n := x.r.ContentLength; n > 0 {
		// A length is a claim until the bytes have come.
		buf.Grow(int(min(n, 64<<10)) + bytes.MinRead)
	}
	if _, err := buf.ReadFrom(http.MaxBytesReader(x.w.ResponseWriter, x.r.Body, x.MaxBody)); err != nil {
		var tooLarge *http.MaxBytesError
		if errors.As(err, &tooLarge) {
			return nil, x.tooLarge()
		}
		return nil, fault.Invalid("body", "the body could not be read to its end; send it again")
	}
	body := buf.Bytes()
	if len(body) == 0 {
		return body, nil
	}
	if err := checkContent(x.r.Header); err != nil {
		return nil, err
	}
	if !utf8.Valid(body) {
		return nil, fault.Invalid("body", "JSON is sent as UTF-8, and this is not")
	}
	if depth(body) > maxDepth {
		return nil, fault.Invalid("body", "the JSON nests deeper than %d levels", maxDepth)
	}
	return body, nil
}

func (x *exchange) tooLarge() error {
	return fault.New(fault.TooLarge, "the body is larger than %d bytes; send large content by URL", x.MaxBody)
}

// checkContent refuses a body that is declared to be something else than A2A's
// JSON. Specification 5.4 maps that condition to 400, not to 415.
func checkContent(h http.Header) error {
	if declared := h.Get("Content-Type"); declared != "" {
		if t := mediaType(declared); t != typeA2A && t != typeJSON {
			return fault.New(fault.ContentTypeNotSupported, "send the body as %s or %s, not as %q", typeA2A, typeJSON, declared)
		}
	}
	if coding := h.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return fault.New(fault.ContentTypeNotSupported, "send the body without Content-Encoding, not as %q", coding)
	}
	return nil
}

// depth is how deep brackets nest in a JSON text. It counts right for valid JSON
// and never less than a decoder would recurse in any other.
func depth(text []byte) int {
	level, deepest := 0, 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '{', '[':
			level++
			deepest = max(deepest, level)
		case '}', ']':
			level--
		case '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		}
	}
	return deepest
}

// payload is a body that has been read, on its way through the gateway.
type payload struct {
	text []byte
	call *restCall
}

// Read has nothing left to give: the decoder takes the text as it is.
func (*payload) Read([]byte) (int, error) { return 0, io.EOF }

// Close does nothing.
func (*payload) Close() error { return nil }
