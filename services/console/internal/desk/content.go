package desk

import (
	"google.golang.org/protobuf/types/known/structpb"

	reviewv1 "sabha.dev/gen/sabha/review/v1"
)

// Original is the content as the item was made with.
func Original(d *reviewv1.Detail) *structpb.Value {
	if d.GetOriginal() != nil {
		return d.GetOriginal()
	}
	return d.GetContent()
}

// At is the content that somebody was shown with a digest; false when it is not known.
func At(d *reviewv1.Detail, digest string) (*structpb.Value, bool) {
	shown := Original(d)
	for _, decision := range d.GetItem().GetDecisions() {
		if decision.GetDigest() == digest {
			return shown, true
		}
		if decision.GetApproved() && decision.GetEdited() != nil {
			shown = decision.GetEdited()
		}
	}
	return shown, d.GetItem().GetDigest() == digest
}
