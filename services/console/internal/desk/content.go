package desk

import (
	"google.golang.org/protobuf/types/known/structpb"

	reviewv1 "sabha.dev/gen/sabha/review/v1"
)

// Current is what is decided on: the content as the last approval left it.
func Current(d *reviewv1.Detail) *structpb.Value {
	now := d.GetContent()
	for _, decision := range d.GetItem().GetDecisions() {
		if decision.GetApproved() && decision.GetEdited() != nil {
			now = decision.GetEdited()
		}
	}
	return now
}

// At is the content that somebody was shown with a digest; false when it is not known.
func At(d *reviewv1.Detail, digest string) (*structpb.Value, bool) {
	shown := d.GetContent()
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
