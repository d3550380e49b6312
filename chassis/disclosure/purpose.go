package disclosure

import (
	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/chassis/ext"
)

// Purpose is what the data of a call is used for, as whoever makes the call states it in
// the metadata of its request.
type Purpose struct {
	// Name such as mortgage-underwriting; empty: none is stated.
	Name string `json:"name,omitempty"`
	// Consent says where the consent to it is on record: the step of a plan that recorded it,
	// as TASK/STEP; empty: there is none.
	Consent string `json:"consent,omitempty"`
}

// IsZero tells whether nothing is stated.
func (p Purpose) IsZero() bool { return p == Purpose{} }

// Value is the purpose as metadata under [ext.Purpose].
func (p Purpose) Value() *structpb.Value {
	fields := map[string]*structpb.Value{"name": structpb.NewStringValue(p.Name)}
	if p.Consent != "" {
		fields["consent"] = structpb.NewStringValue(p.Consent)
	}
	return structpb.NewStructValue(&structpb.Struct{Fields: fields})
}

// PurposeOf reads what the metadata of a message says of its purpose. The engine has put it
// there for a service of the platform, and for nobody else.
func PurposeOf(m *a2apb.Message) Purpose {
	f := m.GetMetadata().GetFields()[ext.Purpose].GetStructValue().GetFields()
	return Purpose{f["name"].GetStringValue(), f["consent"].GetStringValue()}
}

// For is the recipient of a call with a purpose.
func (r Recipient) For(p Purpose) Recipient {
	r.Purpose, r.Consents = p.Name, nil
	if p.Consent != "" && p.Name != "" {
		r.Consents = []string{p.Name}
	}
	return r
}
