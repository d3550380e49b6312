package connector

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"sabha.dev/chassis/tool"
)

// Pages say how the list of an operation goes on.
type Pages struct {
	// Items is the field of the answer that holds the list, such as data.items; empty
	// where the answer is the list.
	Items string
	// Next is the field that holds where the list goes on, empty for the header Link
	// (RFC 8288); Parameter is the parameter of the query that takes its value, empty
	// where it holds a URL.
	Next, Parameter string
	// Most pages of one call, at least 1.
	Most int
}

func (p Pages) validate() error {
	switch {
	case p.Most < 1 || p.Most > 1000:
		return fmt.Errorf("max is %d; it must be 1 to 1000", p.Most)
	case p.Next == "" && p.Parameter != "":
		return errors.New("parameter takes what is in next; name the field in next too")
	case p.Next != "" && p.Items == "":
		return errors.New("an answer that has a field next is no list; name the field of the list in items")
	}
	return nil
}

// pages reads page after page into one answer: the last page, with the items of all. It
// has a third field more, true where the list goes on.
func (k *call) pages(ctx context.Context, p Pages, target string, header http.Header, body []byte) (*mcp.CallToolResult, error) {
	var (
		items = []any{}
		left  = k.MaxBytes
		seen  = map[string]bool{}
	)
	for n := 1; ; n++ {
		seen[target] = true
		a, err := k.send(ctx, target, header, body, left)
		if err != nil {
			return nil, fmt.Errorf("page %d: %w", n, err)
		}
		left -= len(a.body)
		page, err := tool.Decode(a.body)
		if err != nil {
			return nil, fmt.Errorf("page %d of the provider cannot be read: %w", n, err)
		}
		these, ok := field(page, p.Items).([]any)
		if !ok {
			return nil, fmt.Errorf("page %d has no list in %q", n, p.Items)
		}
		items = append(items, these...)
		next, err := k.next(p, target, page, a.header)
		if err != nil {
			return nil, fmt.Errorf("page %d: %w", n, err)
		}
		if next != "" && n < p.Most {
			if seen[next] {
				return nil, fmt.Errorf("page %d says that the list goes on where it was already", n)
			}
			target = next
			continue
		}
		return k.structured(object{"status": a.status, "body": put(page, p.Items, items), "more": next != ""})
	}
}

// next gives where the list goes on; empty for nowhere.
func (k *call) next(p Pages, at string, page any, h http.Header) (string, error) {
	from, err := url.Parse(at)
	if err != nil {
		return "", err
	}
	if p.Parameter != "" {
		v := field(page, p.Next)
		words, err := texts(v)
		if v == nil || v == "" || v == false {
			return "", nil
		}
		if err != nil || len(words) != 1 {
			return "", fmt.Errorf("its field %s says not where the list goes on", p.Next)
		}
		q := from.Query()
		q.Set(p.Parameter, words[0])
		from.RawQuery = q.Encode()
		return from.String(), nil
	}
	link := linked(h)
	if p.Next != "" {
		link, _ = field(page, p.Next).(string)
	}
	if link == "" {
		return "", nil
	}
	to, err := from.Parse(link)
	if err != nil {
		return "", errors.New("its link to the next page is no URL")
	}
	base, err := url.Parse(k.url)
	if err != nil {
		return "", err
	}
	// Credentials go along: they are for this provider alone.
	clean := base.JoinPath("/").Path
	if to.Scheme != base.Scheme || to.Host != base.Host || to.User != nil || !strings.HasPrefix(to.JoinPath("/").Path, clean) {
		return "", errors.New("its link to the next page leads away from the provider")
	}
	to.Fragment = ""
	return to.String(), nil
}

// linked gives the link of the relation next.
func linked(h http.Header) string {
	for _, one := range strings.Split(strings.Join(h.Values("Link"), ","), ",") {
		to, rest, ok := strings.Cut(strings.TrimSpace(one), ">")
		if !ok || !strings.HasPrefix(to, "<") {
			continue
		}
		for parameter := range strings.SplitSeq(rest, ";") {
			name, value, _ := strings.Cut(strings.TrimSpace(parameter), "=")
			if strings.EqualFold(name, "rel") && slices.Contains(strings.Fields(strings.Trim(value, `"`)), "next") {
				return to[1:]
			}
		}
	}
	return ""
}

// field follows a path of names, such as data.items.
func field(v any, path string) any {
	if path == "" {
		return v
	}
	for name := range strings.SplitSeq(path, ".") {
		fields, _ := v.(object)
		v = fields[name]
	}
	return v
}

// put gives a page with other items. Its way there exists.
func put(page any, path string, items []any) any {
	if path == "" {
		return items
	}
	name, rest, _ := strings.Cut(path, ".")
	fields, _ := page.(object)
	fields = maps.Clone(fields)
	fields[name] = put(fields[name], rest, items)
	return fields
}

func keys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
