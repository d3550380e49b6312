package page

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"slices"
)

//go:embed static
var static embed.FS

// Asset is a file that pages need.
type Asset struct {
	Type string
	Body []byte
}

// Links are the addresses of the assets. Each contains a digest of the content,
// so that browsers may keep it for good.
type Links struct{ Style, Script, Worker, Mark string }

// Assets are the style sheet, the scripts and the icon by name, and their
// addresses. A style sheet and a script are made of many files, in the order of
// their names. The error is that of reading an embedded file.
func Assets() (map[string]Asset, Links, error) {
	var links Links
	all := map[string]Asset{}
	for _, a := range []struct {
		name, pattern, kind string
		link                *string
	}{
		{"console.css", "static/style/*.css", "text/css; charset=utf-8", &links.Style},
		{"console.js", "static/script/*.js", "text/javascript; charset=utf-8", &links.Script},
		{"stream.js", "static/stream.js", "text/javascript; charset=utf-8", &links.Worker},
		{"mark.svg", "static/mark.svg", "image/svg+xml", &links.Mark},
	} {
		body, err := joined(a.pattern)
		if err != nil {
			return nil, Links{}, err
		}
		sum := sha256.Sum256(body)
		*a.link = "/static/" + a.name + "?v=" + hex.EncodeToString(sum[:8])
		all[a.name] = Asset{Type: a.kind, Body: body}
	}
	return all, links, nil
}

func joined(pattern string) ([]byte, error) {
	names, err := fs.Glob(static, pattern)
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	var b bytes.Buffer
	for _, name := range names {
		raw, err := static.ReadFile(name)
		if err != nil {
			return nil, err
		}
		b.Write(raw)
		b.WriteByte('\n')
	}
	return b.Bytes(), nil
}
