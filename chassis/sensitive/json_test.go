package sensitive_test

import (
	"fmt"
	"reflect"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/chassis/sensitive"
)

func TestFieldsOfJSONAreFoundByPath(t *testing.T) {
	v := &structpb.Value{}
	err := v.UnmarshalJSON([]byte(`{
		"applicant": {"firstName": "Anna", "date_of_birth": "1980-01-01", "annual_income": 52000, "phones": ["2125550123", "none"],
			"note": "mail me at anna@example.com or call 020 7946 0958", "ssn": 219099998, "address": {"line1": "12 High Street", "postcode": "SW1A 1AA"}},
		"card": {"number": 4111111111111111, "expiry": "12/27", "cvv": "123"},
		"contacts": {"bob@example.org": {"role": "owner"}},
		"order_id": "1234567890", "count": 52000, "password": null, "notes": "", "a.b": "10.0.0.7"
	}`))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range sensitive.JSON(v) {
		for _, f := range p.Found {
			got = append(got, fmt.Sprintf("%s %s %d-%d", p.Path, f.Class, f.Start, f.End))
		}
	}
	want := []string{
		`"a.b" private-address 0-8`,
		"applicant.address.line1 postal-address 0-14",
		"applicant.address.postcode postal-address 0-8",
		"applicant.annual_income finances 0-5",
		"applicant.date_of_birth date-of-birth 0-10",
		"applicant.firstName person-name 0-4",
		"applicant.note email 11-27",
		"applicant.note phone 36-49",
		"applicant.phones[0] phone 0-10",
		"applicant.ssn national-id 0-9",
		"card.cvv secret 0-3",
		"card.number card 0-16",
		"contacts.<key 1> email 0-15",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%q", got)
	}
}
