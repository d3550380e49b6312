package remote

import (
	"encoding/json"
	"net/url"
	"strings"

	"sabha.dev/services/partners/internal/partner"
)

// Interface is one way to an agent that its card names.
type Interface struct {
	URL string
	// Binding is JSONRPC, HTTP+JSON or GRPC; empty for KAP.
	Binding string
	// Version is 1.0 or 0.3 of A2A.
	Version string
	Tenant  string
}

// Bindings of A2A (specification 5.3, and 5.6 of version 0.3).
const (
	jsonRPC  = "JSONRPC"
	httpJSON = "HTTP+JSON"
	gRPC     = "GRPC"
)

// face is what this package reads of a card, of any of the three forms.
type face struct {
	// A2A 1.0
	SupportedInterfaces []struct {
		URL             string `json:"url"`
		ProtocolBinding string `json:"protocolBinding"`
		ProtocolVersion string `json:"protocolVersion"`
		Tenant          string `json:"tenant"`
	} `json:"supportedInterfaces"`
	// A2A 0.3
	URL                  string `json:"url"`
	PreferredTransport   string `json:"preferredTransport"`
	AdditionalInterfaces []struct {
		URL       string `json:"url"`
		Transport string `json:"transport"`
	} `json:"additionalInterfaces"`
	// both
	Capabilities struct {
		Streaming         bool `json:"streaming"`
		PushNotifications bool `json:"pushNotifications"`
	} `json:"capabilities"`
	// KAP
	Endpoint string `json:"endpoint"`
}

// interfaces lists those ways of a card that we can speak, the preferred first.
func (f *face) interfaces(p partner.Protocol) []Interface {
	var all []Interface
	add := func(i Interface) {
		switch i.Binding = strings.ToUpper(i.Binding); {
		case i.Binding != jsonRPC && i.Binding != httpJSON && i.Binding != gRPC:
		case strings.HasPrefix(i.Version, "1."):
			i.Version = "1.0"
			all = append(all, i)
		case strings.HasPrefix(i.Version, "0.3"):
			i.Version = "0.3"
			all = append(all, i)
		}
	}
	switch p {
	case partner.A2A1:
		for _, i := range f.SupportedInterfaces {
			add(Interface{i.URL, i.ProtocolBinding, i.ProtocolVersion, i.Tenant})
		}
	case partner.A2A0:
		preferred := f.PreferredTransport
		if preferred == "" {
			preferred = jsonRPC // specification 0.3, 5.6.1
		}
		add(Interface{URL: f.URL, Binding: preferred, Version: "0.3"})
		for _, i := range f.AdditionalInterfaces {
			if i.URL != f.URL || !strings.EqualFold(i.Transport, preferred) {
				add(Interface{URL: i.URL, Binding: i.Transport, Version: "0.3"})
			}
		}
	case partner.KAP1:
		all = append(all, Interface{URL: f.Endpoint})
	}
	return all
}

// open makes the line to a partner: over the first interface of its card that we speak.
func (c *Client) open(p *partner.Partner, s Settings) (*Line, error) {
	var f face
	if err := json.Unmarshal(p.Card, &f); err != nil {
		return nil, failure(Invalid, "the card of partner %s cannot be read; have it fetched again", p.ID).because(err)
	}
	all := f.interfaces(p.Protocol)
	if len(all) == 0 {
		return nil, failure(Invalid, "the card of partner %s names no interface that is spoken here: JSONRPC, HTTP+JSON or GRPC of A2A 1.0 or 0.3, or kap/1.0", p.ID)
	}
	way := all[0]
	h, err := c.way(way.URL, way.Binding, s)
	if err != nil {
		return nil, err
	}
	l := &Line{
		Features: Features{Streams: f.Capabilities.Streaming, Pushes: f.Capabilities.PushNotifications, Tasks: true},
		Binding:  string(p.Protocol), card: p.Card, settings: s,
	}
	if p.Protocol == partner.KAP1 {
		l.Features = Features{}
		l.wire = &kap{way: h, identity: c.Identity, clock: c.Clock}
		return l, nil
	}
	l.Binding = "a2a/" + way.Version + " " + way.Binding
	switch {
	case way.Version == "0.3":
		l.wire, err = newLegacy(h, way.Binding)
	case way.Binding == jsonRPC:
		l.wire = &rpc{way: h, tenant: way.Tenant}
	case way.Binding == httpJSON:
		l.wire = &rest{way: h, tenant: way.Tenant}
	default:
		l.wire, err = newGRPC(h, way.Tenant)
	}
	return l, err
}

// address reads the URL of an interface. gRPC may have host:port alone.
func address(raw, binding string) (*url.URL, error) {
	if binding == gRPC && !strings.Contains(raw, "://") {
		raw = "grpc://" + raw
	}
	u, err := url.Parse(raw)
	switch {
	case err != nil || u.Host == "" || u.User != nil || u.Fragment != "":
		return nil, failure(Invalid, "the interface %s of the partner's card is no absolute URL", quoted(raw))
	case u.Scheme == "https" || u.Scheme == "http":
		return u, nil
	case binding == gRPC && (u.Scheme == "grpc" || u.Scheme == "grpcs"):
		return u, nil
	}
	return nil, failure(Invalid, "the interface %s of the partner's card has another scheme than https and http", quoted(raw))
}

func quoted(s string) string { return strings.TrimPrefix(quote(s), "; it says ") }
