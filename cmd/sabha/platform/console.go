package platform

import (
	"context"

	"sabha.dev/services/console"
)

// startConsole opens the web console and makes the first account.
func (p *Platform) startConsole(ctx context.Context) error {
	env, err := p.env("console")
	if err != nil {
		return err
	}
	c := console.Config{Config: p.config("console"), Address: p.options.Console, PublicTLS: p.options.PublicTLS}
	c.NATS = "" // it has no use for it
	if file := p.options.ConsoleSettings; file != "" {
		if err := c.ReadSettings(file); err != nil {
			return err
		}
	}
	for _, d := range p.options.Extra {
		c.Agents = append(c.Agents, d.Name)
	}
	p.console, err = console.Start(ctx, c, env)
	if err != nil {
		return err
	}
	p.FirstPassword, err = p.console.FirstAccount(ctx)
	return err
}

// ConsoleAddr is the address of the web console.
func (p *Platform) ConsoleAddr() string { return p.console.Addr() }
