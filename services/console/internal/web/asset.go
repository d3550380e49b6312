package web

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"strings"
	"sync"

	"sabha.dev/services/console/internal/page"
)

// asset is a file with its compressed form.
type asset struct {
	page.Asset
	packed []byte
}

func assets() (map[string]asset, page.Links, error) {
	files, links, err := page.Assets()
	if err != nil {
		return nil, page.Links{}, err
	}
	all := map[string]asset{}
	for name, f := range files {
		var b bytes.Buffer
		z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
		if err != nil {
			return nil, page.Links{}, err
		}
		if _, err := z.Write(f.Body); err != nil {
			return nil, page.Links{}, err
		}
		if err := z.Close(); err != nil {
			return nil, page.Links{}, err
		}
		all[name] = asset{f, b.Bytes()}
	}
	return all, links, nil
}

// asset serves a style sheet, a script or the icon. Their addresses change with
// their content, so browsers need not ask again.
func (s *Site) asset(w http.ResponseWriter, r *http.Request) {
	a, ok := s.assets[r.PathValue("name")]
	if !ok {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	if r.URL.RawQuery != "" {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	h.Set("Content-Type", a.Type)
	h.Set("Vary", "Accept-Encoding")
	body := a.Body
	if packs(r) {
		h.Set("Content-Encoding", "gzip")
		body = a.packed
	}
	_, _ = w.Write(body)
}

func packs(r *http.Request) bool {
	for e := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		if name, q, _ := strings.Cut(strings.TrimSpace(e), ";"); name == "gzip" && strings.TrimSpace(q) != "q=0" {
			return true
		}
	}
	return false
}

var packers = sync.Pool{New: func() any {
	z, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // the level is one that exists
	return z
}}

// compressed packs pages for browsers that can unpack them. Streams, files and
// what is small stay as they are.
func compressed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !packs(r) || r.Method == http.MethodHead {
			next.ServeHTTP(w, r)
			return
		}
		p := &packer{ResponseWriter: w}
		defer p.close()
		next.ServeHTTP(p, r)
	})
}

type packer struct {
	http.ResponseWriter
	z     *gzip.Writer
	begun bool
}

func (p *packer) WriteHeader(status int) {
	if h := p.Header(); !p.begun && strings.HasPrefix(h.Get("Content-Type"), "text/html") && h.Get("Content-Encoding") == "" {
		h.Set("Content-Encoding", "gzip")
		h.Add("Vary", "Accept-Encoding")
		h.Del("Content-Length")
		p.z, _ = packers.Get().(*gzip.Writer)
		p.z.Reset(p.ResponseWriter)
	}
	p.begun = true
	p.ResponseWriter.WriteHeader(status)
}

func (p *packer) Write(b []byte) (int, error) {
	if !p.begun {
		p.WriteHeader(http.StatusOK)
	}
	if p.z != nil {
		return p.z.Write(b)
	}
	return p.ResponseWriter.Write(b)
}

// Unwrap lets streams flush and set deadlines.
func (p *packer) Unwrap() http.ResponseWriter { return p.ResponseWriter }

func (p *packer) close() {
	if p.z != nil {
		_ = p.z.Close()
		packers.Put(p.z)
	}
}
