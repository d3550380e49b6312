// Package crossing keeps the record of what left for partners and what came from them:
// what was found, where, and what was done about it, never the value.
package crossing

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/proto"

	"sabha.dev/chassis/disclosure"
)

// Direction in which a message crosses the boundary.
type Direction string

// The directions.
const (
	Out Direction = "out" // to the partner
	In  Direction = "in"  // from the partner
)

// Bounds of what is kept of one crossing.
const (
	maxFindings = 200
	maxPath     = 256 // bytes
)

// Crossing is one message over the boundary.
type Crossing struct {
	// ID names it; the same one is recorded once. A task's id and what makes the message
	// unique in it, such as the attempt, make a good one.
	ID, Task, Partner, Skill string
	Direction                Direction
	At                       time.Time
	// Bytes and Digest of what crossed; see [Measure].
	Bytes  int64
	Digest string
	// Policy is the version of the agreement that decided.
	Policy string
	// Purpose that was stated, and where the consent to it is on record.
	Purpose  disclosure.Purpose
	Refused  bool
	Findings []disclosure.Finding
	// More findings than are kept.
	More int
}

// Measure gives the size of parts in bytes of their Protobuf form, and the SHA-256 of it, hex.
func Measure(parts []*a2apb.Part) (bytes int64, digest string) {
	hash := sha256.New()
	for _, p := range parts {
		raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(p)
		if err != nil { // text that is not UTF-8 cannot leave either
			continue
		}
		bytes += int64(len(raw))
		_, _ = fmt.Fprintf(hash, "%d:", len(raw))
		_, _ = hash.Write(raw)
	}
	return bytes, hex.EncodeToString(hash.Sum(nil))
}

// Left is the record of a decision about what was to leave.
func Left(id, task string, to disclosure.Recipient, purpose disclosure.Purpose, policy string, at time.Time, asked []*a2apb.Part, r disclosure.Result) Crossing {
	c := Crossing{
		ID: id, Task: task, Partner: to.Partner, Skill: to.Skill, Direction: Out, At: at, Policy: policy, Purpose: purpose, Refused: r.Refused != "", Findings: r.Findings,
	}
	if c.Refused {
		c.Bytes, _ = Measure(asked)
	} else {
		c.Bytes, c.Digest = Measure(r.Parts)
	}
	return c
}

// bounded gives what is kept of a crossing. Paths may come from outside.
func (c Crossing) bounded() Crossing {
	if n := len(c.Findings); n > maxFindings {
		c.Findings, c.More = c.Findings[:maxFindings], c.More+n-maxFindings
	}
	c.Findings = slices.Clone(c.Findings)
	for i := range c.Findings {
		path := strings.ToValidUTF8(strings.ReplaceAll(c.Findings[i].Path, "\x00", ""), "")
		for len(path) > maxPath {
			_, n := utf8.DecodeLastRuneInString(path[:maxPath+1])
			path = path[:maxPath+1-n]
		}
		c.Findings[i].Path = path
	}
	return c
}

// classes are those of the findings, sorted, each between spaces, to be searched.
func (c Crossing) classes() string {
	var list []string
	for _, f := range c.Findings {
		list = append(list, string(f.Class))
	}
	slices.Sort(list)
	list = slices.Compact(list)
	if len(list) == 0 {
		return ""
	}
	return " " + strings.Join(list, " ") + " "
}
