package binding

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	"sabha.dev/chassis/ext"
	"sabha.dev/chassis/fault"
)

// Dialect is an older version of the protocol: operations of 1.0 under other names
// and in other JSON. A call in it is translated, and made like every other.
type Dialect struct {
	// Version is Major.Minor, for example "0.3". Clients send it as A2A-Version or
	// leave it out.
	Version string
	// Methods of JSON-RPC by name.
	Methods map[string]Operation
	// Routes of HTTP+JSON; the first whose path matches is taken, with those of the
	// same path.
	Routes []Route
	// Card writes a card so that clients of either version find what they look for.
	Card func(*a2apb.AgentCard) ([]byte, error)
}

// Operation is one of the eleven operations in a dialect.
type Operation struct {
	// Name of the operation in 1.0, for example SendMessage.
	Name string
	// Decode reads a request. Its errors are made for clients (package fault).
	Decode func(Input) (proto.Message, error)
	// Encode writes an answer, or an event of a stream. Nothing is an answer without
	// a body.
	Encode func(proto.Message) ([]byte, error)
}

// Route is an operation of HTTP+JSON.
type Route struct {
	// Verb is the HTTP method.
	Verb string
	// Path below the base of the interface, without a slash at its beginning. A
	// segment may begin with {task} or {config}, for example tasks/{task}:cancel.
	Path string
	Operation
}

// Input is a request as a client wrote it. A JSON-RPC call has only a body, its
// parameters; they may be missing.
type Input struct {
	Task, Config string
	Query        url.Values
	Body         []byte
}

// served is the version in which translated calls are made.
const served = "1.0"

// match finds the routes of a path, which begins after the tenant.
func (d *Dialect) match(segments []string) (operations endpoint, in Input) {
	path := ""
	for _, r := range d.Routes {
		if path != "" && r.Path != path {
			continue
		}
		input, ok := r.match(segments)
		if !ok {
			continue
		}
		path, in = r.Path, input
		operations = append(operations, operation{method: r.Verb, kind: rpcMethods[r.Name].kind, older: &r.Operation})
	}
	return operations, in
}

func (r *Route) match(segments []string) (Input, bool) {
	pattern := strings.Split(r.Path, "/")
	if len(pattern) != len(segments) {
		return Input{}, false
	}
	var in Input
	for i, p := range pattern {
		name, verb, isName := strings.Cut(p, "}")
		value, hasVerb := strings.CutSuffix(segments[i], verb)
		switch {
		case !isName && p == segments[i]:
		case name == "{task" && hasVerb && value != "":
			in.Task = value
		case name == "{config" && hasVerb && value != "":
			in.Config = value
		default:
			return Input{}, false
		}
	}
	return in, true
}

// olderMetadata is the gRPC metadata of a call in the dialect.
func (x *exchange) olderMetadata(k kind) (metadata.MD, error) {
	d := x.Older
	md, err := callMetadata(x.r, k)
	if err != nil {
		return nil, err
	}
	if v := strings.Join(md[ext.MetadataVersion], ""); v != "" && v != d.Version && !strings.HasPrefix(v, d.Version+".") {
		return nil, fault.New(fault.VersionNotSupported,
			"this is a call of A2A %s, and A2A-Version says %q; the agent card names the interfaces of each version", d.Version, v).
			With("supportedVersions", served+","+d.Version)
	}
	// The name of the header before 1.0.
	if v := strings.Join(x.r.Header.Values("X-A2A-Extensions"), ","); v != "" && printable(v) {
		md.Append(ext.MetadataExtensions, v)
	}
	md.Set(ext.MetadataVersion, served)
	md.Set(ext.MetadataClientVersion, d.Version)
	return md, nil
}

// older serves an operation of the dialect over HTTP+JSON.
func (x *exchange) older(op operation, t target) {
	x.mediaType = typeJSON
	method := rpcMethods[op.older.Name]
	f := form{
		method: method, extensions: "X-A2A-Extensions", around: &envelope{},
		encode: func(b []byte, m proto.Message) ([]byte, error) {
			encoded, err := op.older.Encode(m)
			return append(b, encoded...), err
		},
		fail:  x.refuseOlder,
		frame: func(p problem) []byte { return appendFrame(nil, "error", p.appendOlder(nil)) },
	}
	md, err := x.olderMetadata(op.kind)
	if err != nil {
		f.fail(err)
		return
	}
	in := t.input
	if op.method == http.MethodPost {
		if in.Body, err = x.readBody(); err != nil {
			f.fail(err)
			return
		}
	}
	if in.Query, err = url.ParseQuery(x.r.URL.RawQuery); err != nil {
		f.fail(fault.Invalid("query", "cannot be read"))
		return
	}
	x.translate(op.older, in, md, t.tenant, f)
}

// translate makes a call of the dialect as one of 1.0.
func (x *exchange) translate(op *Operation, in Input, md metadata.MD, tenant string, f form) {
	request, err := op.Decode(in)
	if err != nil {
		f.fail(err)
		return
	}
	if tenant != "" {
		setTenant(request, tenant)
	}
	ctx, cancel := context.WithCancel(metadata.NewOutgoingContext(x.r.Context(), md))
	defer cancel()
	x.invoke(ctx, f, request)
}

func (x *exchange) refuseOlder(err error) {
	p := diagnose(err)
	x.report(p)
	x.headers(p)
	x.send(typeJSON, p.http, p.appendOlder(nil))
}

// appendOlder appends the error body of HTTP+JSON before 1.0. Its specification
// gives it no form: the JavaScript SDK reads a code of JSON-RPC at the root, the Go
// SDK the body that 1.0 has, so both are there.
func (p problem) appendOlder(b []byte) []byte {
	b = appendError(b, rpcCode(p), p.message, p.appendDetails(nil))
	b[len(b)-1] = ','
	return append(b, p.appendJSON(nil)[1:]...)
}
