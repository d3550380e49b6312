package strictyaml_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"sabha.dev/chassis/strictyaml"
)

// shop is read by the tests.
func shop(root strictyaml.Node) {
	f, ok := root.Fields("name", "open", "stock", "share", "wait", "kinds", "size")
	if !ok {
		return
	}
	if n, ok := f.Need("name"); ok {
		n.Text()
	}
	if n, ok := f.Get("open"); ok {
		n.Bool()
	}
	if n, ok := f.Get("stock"); ok {
		n.Int(1, 5)
	}
	if n, ok := f.Get("share"); ok {
		n.Number(0, 1)
	}
	if n, ok := f.Get("wait"); ok {
		n.Duration(time.Minute, 4*time.Hour)
	}
	if n, ok := f.Get("kinds"); ok {
		for _, k := range n.Items() {
			k.OneOf("tea", "coffee")
		}
	}
	if n, ok := f.Get("size"); ok {
		for _, e := range n.Entries() {
			e.Value.Scalar()
		}
	}
}

func TestEveryProblemComesWithItsPlace(t *testing.T) {
	for _, c := range []struct{ what, file, want string }{
		{"nothing wrong", "name: A\nopen: true\nstock: 3\nwait: 1h30m\nkinds: [tea, coffee]\nsize: {a: 1, b: two}\n", ""},
		{"empty", "# nothing\n", "shop.yaml: the file is empty"},
		{"not YAML", "name: A\n\tx", "shop.yaml:2: not valid YAML: found a tab character that violates indentation"},
		{"two documents", "name: A\n---\nname: B\n", "shop.yaml:2: one file holds one document; remove what follows the line ---"},
		{"an alias", "name: &a A\nkinds: [*a]\n", "shop.yaml:1: name: anchors (&a) are refused; write the value out where it is used\nshop.yaml:2: kinds[0]: aliases (*a) are refused; write the value out"},
		{"a key twice", "name: A\nname: B\n", "shop.yaml:2: name: the key is there twice; first on line 1"},
		{"an unknown key", "nam: A\n", "shop.yaml:1: unknown key \"nam\" (did you mean \"name\"?); known keys: name, open, stock, share, wait, kinds, size\nshop.yaml:1: the key \"name\" is missing"},
		{"a key without a value", "name:\n", "shop.yaml:1: name: has no value; give it one or remove the key"},
		{"wrong types", "name: 5\nopen: 1\nstock: 9\nwait: soon\nkinds: tea\nsize: {a: [1]}\n", `shop.yaml:1: name: must be text; it is a number
shop.yaml:2: open: must be true or false; it is a number
shop.yaml:3: stock: must be a whole number from 1 to 5
shop.yaml:4: wait: "soon" is not a duration; write numbers with the units h, m or s, such as 90m or 4h
shop.yaml:5: kinds: must be a list; it is text
shop.yaml:6: size.a: must be one value; it is a list`},
		{"numbers", "name: A\nshare: 0.5\n", ""},
		{"a number that is none", "name: A\nshare: .nan\n", "shop.yaml:2: share: must be a number from 0 to 1"},
		{"a number out of bounds", "name: A\nshare: 1.5\n", "shop.yaml:2: share: must be a number from 0 to 1"},
		{"bounds and words", "name: ''\nwait: 5h\nkinds:\n  - tea\n  - tee\n", `shop.yaml:1: name: is empty; write something or remove the key
shop.yaml:2: wait: must be from 1m to 4h; it is 5h
shop.yaml:5: kinds[1]: "tee" is unknown (did you mean "tea"?); write one of tea, coffee`},
		{"a list at the root", "[1]\n", "shop.yaml:1: must be a map with the keys name, open, stock, share, wait, kinds, size; it is a list"},
	} {
		t.Run(c.what, func(t *testing.T) {
			got := ""
			if err := strictyaml.Parse("shop.yaml", []byte(c.file), shop); err != nil {
				var problems strictyaml.Problems
				if !errors.As(err, &problems) {
					t.Fatalf("%T is not Problems", err)
				}
				got = err.Error()
			}
			if got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

func TestFilesBeyondTheBoundsAreRefused(t *testing.T) {
	for what, c := range map[string]struct{ file, want string }{
		"long": {strings.Repeat("a", strictyaml.MaxSize+1), "may have 1048576 at most"},
		"deep": {strings.Repeat("[", 40) + strings.Repeat("]", 40), "nested deeper than 32 levels"},
		"text": {"name: \xff", "not UTF-8"},
		"many": {"name: A\nkinds: [" + strings.Repeat("x, ", 200) + "]", "is unknown"},
	} {
		err := strictyaml.Parse("f", []byte(c.file), shop)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Count(err.Error(), "\n") >= 100 {
			t.Errorf("%s: %.300v, want %q", what, err, c.want)
		}
	}
}

// Whatever is in a file, it is read or its problems are told.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"name: A", "name: &a [*a]", "{", "- - - -", "name: !!binary x", "? [a]: b", "<<: {a: 1}", "name: 2026-01-01"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := strictyaml.Parse("f", data, shop); err != nil && err.Error() == "" {
			t.Fatal("an error says nothing")
		}
	})
}
