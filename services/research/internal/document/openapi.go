package document

import "strings"

var methods = map[string]bool{
	"get": true, "put": true, "post": true, "delete": true, "options": true, "head": true, "patch": true, "trace": true, "query": true,
}

// parts are the collections of an OpenAPI document whose members become
// sections, and what one of them is called.
var parts = map[string]string{
	"schemas": "schema", "responses": "response", "parameters": "parameter", "examples": "example",
	"requestBodies": "request body", "headers": "header", "securitySchemes": "security scheme", "links": "link",
	"callbacks": "callback", "pathItems": "path item",
	"definitions": "schema", "securityDefinitions": "security scheme", // of version 2
}

// described tells an OpenAPI document.
func described(v *value) bool {
	version := v.say("openapi") + v.say("swagger")
	return (strings.HasPrefix(version, "3.") || strings.HasPrefix(version, "2.")) && (v.get("paths") != nil || v.get("webhooks") != nil)
}

// openAPI makes a section of each operation, with its method and path, and
// of each named part, in the order of the file.
func openAPI(doc *Document, t *tree, root *value) error {
	if info := root.get("info"); info != nil {
		doc.Title = caption(info.say("title"))
		doc.Metadata.add("version", info.say("version"))
	}
	for i := range root.items {
		m := &root.items[i]
		var err error
		switch m.key {
		case "paths", "webhooks":
			err = operations(t, m)
		case "components":
			for j := range m.items {
				if err = named(t, &m.items[j]); err != nil {
					break
				}
			}
		case "openapi", "swagger":
		default:
			err = named(t, m)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// named makes sections of the members of one of parts, and one section of
// anything else.
func named(t *tree, m *value) error {
	kind, ok := parts[m.key]
	if !ok || m.kind != '{' {
		t.heading(2, m.from, m.key)
		path := ""
		if m.kind == 0 {
			path = m.key
		}
		return flatten(t, path, m)
	}
	for i := range m.items {
		t.heading(2, m.items[i].from, kind+" "+m.items[i].key)
		if err := flatten(t, "", &m.items[i]); err != nil {
			return err
		}
	}
	return nil
}

func operations(t *tree, paths *value) error {
	for i := range paths.items {
		path := &paths.items[i]
		b := blocks{tree: t}
		shared := false // what all operations of a path share is a section too
		for j := range path.items {
			m := &path.items[j]
			if methods[m.key] && m.kind == '{' {
				if err := operation(&b, path.key, m); err != nil {
					return err
				}
				shared = false
				continue
			}
			if !shared {
				t.heading(2, m.from, path.key)
				shared = true
			}
			if err := member(&b, m); err != nil {
				return err
			}
			if err := b.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

func operation(b *blocks, path string, op *value) error {
	heading := strings.ToUpper(op.key) + " " + path
	if s := op.say("summary"); s != "" {
		heading += ": " + s
	}
	b.tree.heading(2, op.from, caption(heading))
	for i := range op.items {
		if err := member(b, &op.items[i]); err != nil {
			return err
		}
	}
	return b.flush()
}

// member adds a member of an operation; parameters and responses are called
// by their names.
func member(b *blocks, m *value) error {
	if m.key != "parameters" && m.key != "responses" {
		return b.add(m.key, m)
	}
	for i := range m.items {
		item := &m.items[i]
		path := "response " + item.key
		if m.key == "parameters" {
			path = strings.TrimSpace("parameter " + caption(item.say("name")))
		}
		if err := b.add(path, item); err != nil {
			return err
		}
	}
	return nil
}
