// Package ext names the A2A extensions of the platform: the keys under which
// our facts travel in the metadata of messages, tasks and events
// (specification 4.6), and the gRPC metadata that carries A2A's service
// parameters.
package ext

// Extension URIs. Each is a key in a metadata object and is declared on the
// agent card where the agent honours it. A client that does not know an
// extension may ignore it.
const (
	// Cursor is a position in a task's events: the string "epoch.version",
	// both decimal. It is in the metadata of StatusUpdate and ArtifactUpdate
	// events and of a Task, and names the last change that they contain. A
	// subscription that gives it back continues after it.
	Cursor = "urn:sabha:ext:cursor:v1"
	// Skill in a message's metadata is the id (a string) of the skill that is
	// asked for. Without it the agent chooses.
	Skill = "urn:sabha:ext:skill:v1"
	// Playbook in a message's metadata is the name (a string) of the playbook
	// to run. Without it the planner matches one.
	Playbook = "urn:sabha:ext:playbook:v1"
	// Step in a message's or an artifact's metadata is the name (a string) of
	// the plan step that it belongs to.
	Step = "urn:sabha:ext:step:v1"
	// Plan in a task's or an event's metadata is an object that describes the
	// plan behind the task and the state of its steps.
	Plan = "urn:sabha:ext:plan:v1"
	// Push in the metadata of a Task that GetTask answers is an object: by the id of
	// each push configuration, how its notifications fare. It has state (active,
	// retrying, disabled), delivered (the Cursor of the newest event that arrived) and,
	// after failures, failures (how many in a row), reason, nextAttempt or disabledAt.
	Push = "urn:sabha:ext:push:v1"
	// Models in a Task's metadata is an object: what language models did for it. It has
	// drafted (a model wrote the plan), model (which), repairs (how often its plan was sent
	// back), note (why the built-in plan is used), and of all models calls, input_tokens,
	// output_tokens, cost and currency. What is zero is left out.
	Models = "urn:sabha:ext:models:v1"
	// Labels in a part's metadata is an object with the part's integrity and
	// confidentiality; in the metadata of a request to send a message, of all its parts.
	// Only services of the platform set it; it is stripped from what comes in from outside.
	Labels = "urn:sabha:ext:labels:v1"
	// Purpose in the metadata of a request to send a message, and of the message once it has
	// arrived, is an object: name, what its data is used for, and consent, where the consent
	// to that is on record. Only services of the platform set it; it is stripped from what
	// comes in from outside.
	Purpose = "urn:sabha:ext:purpose:v1"
	// Confirm in a message's metadata is a string: a person must approve what the message
	// asks for before anything of it begins, for the reason that the string gives. Only
	// edges set it, by MetadataConfirm; it is stripped from what comes in from outside.
	Confirm = "urn:sabha:ext:confirm:v1"
	// Wait in the metadata of a task that is WORKING, and of the status event that
	// said so, is an object that tells whom it waits for: for ("person"), queue, due and
	// until (RFC 3339; until is absent when the wait has no end). While it is there the
	// clock of whoever started the task stands still.
	Wait = "urn:sabha:ext:wait:v1"
	// Canceled in a task's metadata is the reason (a string) that an operator gave for
	// canceling it.
	Canceled = "urn:sabha:ext:canceled:v1"
	// Forked in the metadata of a task that an operator made out of an ended one is an
	// object: from (that task's id) and step (where its plan began again).
	Forked = "urn:sabha:ext:forked:v1"
	// Input on a card has as its params, by the id of a skill, the JSON Schema of the data
	// part that the skill takes. A skill that is not there takes text and data.
	Input = "urn:sabha:ext:input:v1"
	// KAP in the metadata of a message that the gateway has made of a request of KAP is an
	// object: capability, and from, an object with what the request says of its sender
	// (id, name, organization). It is a record; nobody may believe it.
	KAP = "urn:sabha:ext:kap:v1"
)

// Keys of gRPC metadata.
const (
	// MetadataVersion is the A2A protocol version the client speaks, as
	// Major.Minor; absent or empty means 0.3 (specification 3.6).
	MetadataVersion = "a2a-version"
	// MetadataExtensions lists the extension URIs the client asks for,
	// separated by commas; in response headers, those that were activated.
	MetadataExtensions = "a2a-extensions"
	// MetadataCursor on SubscribeToTask is the Cursor to continue after.
	MetadataCursor = "a2a-cursor"
	// MetadataClientVersion is the protocol version that a client outside speaks,
	// where an edge has translated its call. Only edges set it.
	MetadataClientVersion = "sabha-client-version"
	// MetadataConfirm on a call that sends a message is put into the message as Confirm.
	// It is printable ASCII. Only edges set it.
	MetadataConfirm = "sabha-confirm"
	// MetadataIntegrity on a call that sends a message is the integrity of its parts where
	// that is not a client's own word: "untrusted" for what another organisation's agent
	// says. Only edges set it.
	MetadataIntegrity = "sabha-integrity"
)
