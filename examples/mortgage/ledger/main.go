// Command ledger is the bank's ledger of offers as an MCP server over standard input and
// output. Each entry is a line of JSON at the end of the file that it is told; nothing is
// ever removed from it.
//
//	ledger FILE
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Offer binds the bank.
type Offer struct {
	Reference string  `json:"reference"`
	Name      string  `json:"name"`
	IBAN      string  `json:"iban"`
	Amount    float64 `json:"amount"`
	Rate      float64 `json:"rate"`
	Grade     string  `json:"grade"`
	Insurance bool    `json:"insurance"`
}

// Withdrawal ends an offer.
type Withdrawal struct {
	Reference string `json:"reference"`
}

// Entry is what was written.
type Entry struct {
	Kind      string `json:"kind"`
	Reference string `json:"reference"`
	Offer     *Offer `json:"offer,omitempty"`
}

type ledger struct{ file string }

func (l ledger) write(e Entry) error {
	f, err := os.OpenFile(l.file, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	line, err := json.Marshal(e)
	if err == nil {
		_, err = f.Write(append(line, '\n'))
	}
	if err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}

func (l ledger) issue(_ context.Context, _ *mcp.CallToolRequest, o Offer) (*mcp.CallToolResult, Entry, error) {
	e := Entry{Kind: "offer", Reference: o.Reference, Offer: &o}
	return nil, e, l.write(e)
}

func (l ledger) withdraw(_ context.Context, _ *mcp.CallToolRequest, w Withdrawal) (*mcp.CallToolResult, Entry, error) {
	e := Entry{Kind: "withdrawal", Reference: w.Reference}
	return nil, e, l.write(e)
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: ledger FILE")
		os.Exit(2)
	}
	l := ledger{os.Args[1]}
	s := mcp.NewServer(&mcp.Implementation{Name: "ledger", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "issue_offer", Description: "Writes an offer, which binds the bank."}, l.issue)
	mcp.AddTool(s, &mcp.Tool{Name: "withdraw_offer", Description: "Withdraws an offer."}, l.withdraw)
	if err := s.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
