package engine

import (
	"testing"
	"time"

	"google.golang.org/grpc/metadata"

	"sabha.dev/chassis/ext"
	"sabha.dev/chassis/fault"
)

// A page token is either refused with its field or means exactly one place.
func FuzzPageToken(f *testing.F) {
	for _, seed := range []string{"", "x", "%%%", "AAAA", writeToken(time.Unix(0, 0), "t1"), writeToken(time.Unix(1, 5), "a b"), "MSA"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, token string) {
		at, id, err := readToken(token)
		if err != nil {
			if e := fault.As(err); e == nil || len(e.Fields) != 1 || e.Fields[0].Path != "pageToken" {
				t.Fatalf("%q: %v does not name the field", token, err)
			}
			return
		}
		if id == "" {
			t.Fatalf("%q: no task", token)
		}
		again, same, err := readToken(writeToken(at, id))
		if err != nil || !again.Equal(at) || same != id {
			t.Fatalf("%q means %v %q, written again it means %v %q (%v)", token, at, id, again, same, err)
		}
	})
}

func FuzzCursor(f *testing.F) {
	for _, seed := range []string{"", "1.2", "1", ".", "1.-1", "-1.1", "99999999999999999999.1", "1.2.3", "١.٢"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := cursorOf(metadata.NewIncomingContext(t.Context(), metadata.Pairs(ext.MetadataCursor, text)))
		switch {
		case err != nil:
			if e := fault.As(err); e == nil || len(e.Fields) != 1 || e.Fields[0].Path != "cursor" {
				t.Fatalf("%q: %v does not name the field", text, err)
			}
		case c == nil:
			if text != "" {
				t.Fatalf("%q is taken for no cursor", text)
			}
		case c.version < 0:
			t.Fatalf("%q gives version %d", text, c.version)
		default:
			again, err := cursorOf(metadata.NewIncomingContext(t.Context(), metadata.Pairs(ext.MetadataCursor, formatCursor(c.epoch, c.version))))
			if err != nil || *again != *c {
				t.Fatalf("%q means %v, written again it means %v (%v)", text, c, again, err)
			}
		}
	})
}

func FuzzVersion(f *testing.F) {
	for _, seed := range []string{"", "1.0", "1.0.7", "1", "0.3", " 1.0 ", "1.0x", "1.00", "1.0.", "1.0,1.0"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, version string) {
		err := CheckVersion(metadata.NewIncomingContext(t.Context(), metadata.Pairs(ext.MetadataVersion, version)))
		if err != nil && !fault.Is(err, fault.VersionNotSupported) {
			t.Fatalf("%q: %v", version, err)
		}
	})
}
