package page

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
)

//go:embed static
var static embed.FS

// Assets are the style sheet, the script and the icon, by name.
func Assets() fs.FS {
	sub, err := fs.Sub(static, "static")
	if err != nil {
		return static // "static" is a valid path, so there is no error
	}
	return sub
}

// Links are the addresses of the assets. Each contains a digest of the content,
// so that browsers may keep it for good.
type Links struct{ Style, Script, Mark string }

// LinksOf makes the addresses. The error is that of reading an asset.
func LinksOf(assets fs.FS) (Links, error) {
	address := func(name string) (string, error) {
		raw, err := fs.ReadFile(assets, name)
		if err != nil {
			return "", err
		}
		sum := sha256.Sum256(raw)
		return "/static/" + name + "?v=" + hex.EncodeToString(sum[:8]), nil
	}
	var l Links
	for name, link := range map[string]*string{"console.css": &l.Style, "console.js": &l.Script, "mark.svg": &l.Mark} {
		a, err := address(name)
		if err != nil {
			return Links{}, err
		}
		*link = a
	}
	return l, nil
}
