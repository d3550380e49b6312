package a2aagent

import (
	"slices"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/chassis/ext"
	"sabha.dev/services/memory/internal/memory"
)

const labelsKey = ext.Labels

// Values of the two labels, the least restrictive first.
var (
	integrities       = []string{"", "trusted", "untrusted"}
	confidentialities = []string{"", "public", "internal", "sensitive"}
)

// labelsOf joins the labels of the parts of a message, so that they stay with what is remembered.
func labelsOf(parts []*a2apb.Part) memory.Labels {
	var joined memory.Labels
	for _, p := range parts {
		l := p.GetMetadata().GetFields()[labelsKey].GetStructValue().GetFields()
		joined = join(joined, memory.Labels{
			Integrity: l["integrity"].GetStringValue(), Confidentiality: l["confidentiality"].GetStringValue(),
		})
	}
	return joined
}

// join gives the more restrictive of each label. A value that is not known counts
// as the most restrictive.
func join(a, b memory.Labels) memory.Labels {
	return memory.Labels{
		Integrity:       stricter(integrities, a.Integrity, b.Integrity),
		Confidentiality: stricter(confidentialities, a.Confidentiality, b.Confidentiality),
	}
}

func stricter(order []string, a, b string) string {
	rank := func(v string) int {
		if i := slices.Index(order, v); i >= 0 {
			return i
		}
		return len(order) - 1
	}
	return order[max(rank(a), rank(b))]
}

func labelsValue(l memory.Labels) *structpb.Value {
	fields := map[string]*structpb.Value{}
	if l.Integrity != "" {
		fields["integrity"] = structpb.NewStringValue(l.Integrity)
	}
	if l.Confidentiality != "" {
		fields["confidentiality"] = structpb.NewStringValue(l.Confidentiality)
	}
	return structpb.NewStructValue(&structpb.Struct{Fields: fields})
}
