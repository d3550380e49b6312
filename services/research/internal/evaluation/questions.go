package evaluation

import _ "embed"

// A2A are questions about the documents of the A2A project, which are not
// part of this repository.
//
//go:embed a2a.json
var A2A []byte
