package server

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"

	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"sabha.dev/chassis/clock"
	"sabha.dev/chassis/identity"
	"sabha.dev/chassis/service"
	adminv1 "sabha.dev/gen/sabha/admin/v1"
	"sabha.dev/services/planner"
)

// Planner starts a planner over a database in this process, and gives its admin
// service as an operator asks it through the gateway, and what ends it all.
func Planner(ctx context.Context, dir, database string) (adminv1.AdminServiceClient, context.Context, func() error, error) {
	keys := filepath.Join(dir, "keys")
	if err := identity.MakeKeys(keys, planner.Name, identity.Gateway); err != nil {
		return nil, nil, nil, err
	}
	ring, err := identity.LoadKeyring(keys)
	if err != nil {
		return nil, nil, nil, err
	}
	ns, err := natsserver.NewServer(&natsserver.Options{DontListen: true, JetStream: true, StoreDir: filepath.Join(dir, "nats"), NoSigs: true, NoLog: true})
	if err != nil {
		return nil, nil, nil, err
	}
	ns.Start()
	network := service.NewMemory()
	env := func(name string) (service.Env, error) {
		nc, err := nats.Connect("", nats.InProcessServer(ns))
		if err != nil {
			return service.Env{}, err
		}
		key, err := identity.LoadKey(filepath.Join(keys, name+".key"))
		return service.Env{
			Clock: clock.System{}, Log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})), NATS: nc,
			Keys: ring, Key: key, Network: network, Exclusive: true,
		}, err
	}
	e, err := env(planner.Name)
	if err != nil {
		return nil, nil, nil, err
	}
	running, err := service.Start(ctx, planner.New(planner.Config{Config: service.Config{Database: database}}), e)
	if err != nil {
		return nil, nil, nil, err
	}
	if e, err = env(identity.Gateway); err != nil {
		return nil, nil, nil, err
	}
	base, release, err := service.OpenBase(ctx, service.Definition{Name: identity.Gateway}, e)
	if err != nil {
		return nil, nil, nil, err
	}
	conn, err := base.Peer(planner.Name)
	if err != nil {
		return nil, nil, nil, err
	}
	grant, err := base.Signer.Grant(identity.Principal{Subject: "olga", Organisation: "ops", Scopes: []string{identity.Operator}})
	if err != nil {
		return nil, nil, nil, err
	}
	stop := func() error {
		release()
		err := running.Stop(context.WithoutCancel(ctx))
		ns.Shutdown()
		ns.WaitForShutdown()
		return err
	}
	return adminv1.NewAdminServiceClient(conn), identity.WithOutgoing(ctx, identity.Call{Grant: grant}), stop, nil
}
