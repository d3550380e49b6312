package outlet

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/chassis/disclosure"
	"sabha.dev/chassis/fault"
)

// maxPlaces bounds the findings of one record.
const maxPlaces = 50

// record notes what has been decided, and gives a refusal as an error.
func (o *Outlet) record(ctx context.Context, use Use, asked []*a2apb.Part, r disclosure.Result) error {
	outcome, level, what := "unchanged", slog.LevelDebug, r.Parts
	switch {
	case r.Refused != "":
		outcome, level, what = "refused", slog.LevelWarn, asked
	case len(r.Findings) > 0:
		level = slog.LevelInfo
		for _, f := range r.Findings {
			if f.Action != disclosure.Allow {
				outcome = "changed"
			}
		}
	}
	o.outlets.messages.WithLabelValues(o.name, outcome).Inc()
	for _, f := range r.Findings {
		o.outlets.findings.WithLabelValues(o.name, string(f.Class), string(f.Action)).Inc()
	}
	if log := o.outlets.log; log.Enabled(ctx, level) {
		size, digest := measure(what)
		log.Log(ctx, level, "disclosure outside", "outlet", o.name, "kind", string(o.kind), "of", use.Of, "task_id", use.Task,
			"outcome", outcome, "bytes", size, "sha256", digest, "findings", places(r.Findings))
	}
	if r.Refused != "" {
		return fault.New(fault.PermissionDenied, "%s", r.Refused)
	}
	return nil
}

// measure gives the size and the SHA-256 of what parts hold.
func measure(parts []*a2apb.Part) (size int, digest string) {
	hash := sha256.New()
	for _, p := range parts {
		content := []byte(p.GetText())
		switch c := p.GetContent().(type) {
		case *a2apb.Part_Raw:
			content = c.Raw
		case *a2apb.Part_Url:
			content = []byte(c.Url)
		case *a2apb.Part_Data:
			content, _ = proto.MarshalOptions{Deterministic: true}.Marshal(c.Data)
		}
		size += len(content)
		_, _ = hash.Write(content)
	}
	return size, hex.EncodeToString(hash.Sum(nil))
}

// places names findings by class, place, action and rule.
func places(list []disclosure.Finding) string {
	var all []string
	for i, f := range list {
		if i == maxPlaces {
			all = append(all, fmt.Sprintf("%d more", len(list)-i))
			break
		}
		all = append(all, fmt.Sprintf("%s in %s %s by %s", f.Class, f.Place(), f.Action, f.Rule))
	}
	return strings.Join(all, "; ")
}

// exact tells whether float64 holds every number of a JSON document as it is written.
func exact(raw []byte) bool {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	for {
		t, err := dec.Token()
		if err != nil {
			return err == io.EOF
		}
		n, ok := t.(json.Number)
		if !ok {
			continue
		}
		if i, err := strconv.ParseInt(n.String(), 10, 64); err == nil {
			if int64(float64(i)) != i || i > 1<<53 || i < -1<<53 {
				return false
			}
			continue
		}
		if !strings.ContainsAny(n.String(), ".eE") || digits(n.String()) > 15 {
			return false
		}
	}
}

// digits counts those of the number's coefficient.
func digits(n string) int {
	coefficient, _, _ := strings.Cut(strings.ToLower(n), "e")
	count := 0
	for _, c := range strings.TrimLeft(coefficient, "-0.") {
		if c >= '0' && c <= '9' {
			count++
		}
	}
	return count
}

// shallow copies a part but not its content, so that it can be labelled.
func shallow(p *a2apb.Part) *a2apb.Part {
	out := &a2apb.Part{Content: p.GetContent(), Filename: p.GetFilename(), MediaType: p.GetMediaType()}
	if p.GetMetadata() != nil {
		out.Metadata = proto.CloneOf(p.GetMetadata())
	} else {
		out.Metadata = &structpb.Struct{Fields: map[string]*structpb.Value{}}
	}
	return out
}
