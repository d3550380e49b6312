package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"sabha.dev/chassis/egress"
	"sabha.dev/chassis/outlet"
	"sabha.dev/chassis/service"
	"sabha.dev/chassis/sqldb"
	"sabha.dev/cmd/sabha/platform"
	"sabha.dev/services/executor"
	"sabha.dev/services/planner"
	"sabha.dev/services/research"
)

// stopWithin bounds how long a platform may take to stop in good order.
const stopWithin = 15 * time.Second

// defaultDocs is ingested when it is there and no other folder is named.
const defaultDocs = "docs"

func (r *run) up() *cobra.Command {
	var (
		o     platform.Options
		model planner.Model
		level slog.Level
		ratio float64
		kap   string
		mcp   string
		leave string
		near  string
	)
	c := &cobra.Command{
		Use: "up", Short: "Run the whole platform in this process until it is stopped", Args: exactly(0),
		Long: `Up runs every service in one process, with an embedded NATS server and SQLite files in the
data folder, or with the NATS servers and the PostgreSQL database that are named. What was running when it stopped goes on when it starts again. The first start
makes an API key and an account of the console, and prints both once. Ctrl-C stops.`,
		Example: "  sabha up\n  sabha up --docs ./handbook --data /var/lib/sabha --public-url https://agents.example.com",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !cmd.Flags().Changed("docs") {
				if _, err := os.Stat(o.Docs); errors.Is(err, fs.ErrNotExist) {
					o.Docs = ""
				}
			}
			if kap != "" {
				if err := service.Load(kap, &o.KAP); err != nil {
					return usagef("--kap: %v", err)
				}
			}
			if mcp != "" {
				o.MCP = &executor.MCP{}
				if err := service.Load(mcp, o.MCP); err != nil {
					return usagef("--mcp: %v", err)
				}
			}
			if near != "" {
				if err := service.Load(near, &o.Embeddings); err != nil {
					return usagef("--embeddings: %v", err)
				}
			}
			if leave != "" {
				raw, err := os.ReadFile(leave)
				if err == nil {
					model.Disclosure, err = outlet.ParsePolicy(leave, raw)
				}
				if err != nil {
					return usagef("--model-disclosure: %v", err)
				}
			}
			o.Model = model
			o.TraceRatio = &ratio
			o.Log = slog.New(slog.NewTextHandler(r.Err, &slog.HandlerOptions{Level: level}))
			return r.runUp(cmd.Context(), o)
		},
	}
	f := c.Flags()
	f.StringVar(&o.HTTP, "http", ":8080", "address of HTTP: A2A over HTTP+JSON and JSON-RPC, agent cards, MCP")
	f.StringVar(&o.GRPC, "grpc", ":9090", "address of A2A over gRPC")
	f.StringVar(&o.Console, "console", ":8081", "address of the web console")
	f.StringVar(&o.ConsoleSettings, "console-settings", "", "file with hosts, public_url, oidc and more of the console's configuration, such as for an identity provider")
	f.StringVar(&o.PublicURL, "public-url", "", "where clients reach HTTP, for agent cards (default http://localhost and the port)")
	f.StringVar(&o.Data, "data", defaultData, "folder for databases, event log and keys")
	f.StringVar(&o.Database, "database", "", "PostgreSQL database with a schema for each service, postgres://… (default SQLite files in the data folder)")
	f.StringVar(&o.NATS, "nats", "", "NATS servers, URLs separated by commas (default one in this process)")
	f.StringVar(&o.PublicTLS, "public-tls", "", "folder with tls.crt and tls.key to serve HTTPS, gRPC and the console with")
	f.StringVar(&o.Docs, "docs", defaultDocs, "folder of documents to answer from")
	f.StringVar(&o.Playbooks, "playbooks", "", "folder of playbooks beside the built-in ones")
	f.StringVar(&o.ReviewPolicy, "review-policy", "", "file that says who decides on what until when, instead of the built-in one")
	f.StringVar(&o.Thresholds, "thresholds", "", "file that says how sure the validator must be by product and risk, instead of 0.7 for all")
	f.StringVar(&o.Agreements, "agreements", "", "folder of operating agreements with partners, one file each")
	f.StringVar(&kap, "kap", "", "file that says what agents of other organisations are offered over KAP, instead of one capability that asks")
	f.StringVar(&mcp, "mcp", "", "file that names MCP servers whose tools may be called, as the executor's section mcp does")
	f.StringVar(&near, "embeddings", "", "file that names a model whose vectors documents are found by, as research's section embeddings does (default the built-in ones)")
	f.StringSliceVar(&o.PushAllow, "push-allow", nil, "networks that webhooks may be in beside public ones, as CIDRs (127.0.0.0/8 for this machine)")
	f.StringVar(&model.BaseURL, "model-url", "", "base URL of a language model's endpoint, which plans open requests and writes answers (without one answers are quoted)")
	f.StringVar(&model.Name, "model", "", "name of the model at --model-url")
	f.StringVar(&model.Provider, "model-provider", "", "whose API --model-url speaks: openai (chat completions) or anthropic (messages) (default openai)")
	f.StringVar(&model.KeyFile, "model-key-file", "", "file that holds the API key for --model-url")
	f.StringVar(&leave, "model-disclosure", "", "file that says what may leave to --model-url, as a section disclosure says it (default values as tokens, no secrets)")
	f.StringVar(&o.OTLP, "otlp", "", "URL of a collector that takes spans by OTLP over gRPC, such as http://localhost:4317")
	f.Float64Var(&ratio, "trace-ratio", 1, "part of the traces that begin here which are recorded, 0 to 1")
	f.TextVar(&level, "log", slog.LevelWarn, "least level that is logged: debug, info, warn, error")
	_ = c.RegisterFlagCompletionFunc("log", cobra.FixedCompletions([]string{"debug", "info", "warn", "error"}, cobra.ShellCompDirectiveNoFileComp))
	return c
}

// defaultData is where up keeps its data.
const defaultData = "data"

func (r *run) runUp(ctx context.Context, o platform.Options) error {
	for flag, address := range map[string]string{"http": o.HTTP, "grpc": o.GRPC, "console": o.Console} {
		if _, _, err := net.SplitHostPort(address); err != nil {
			return usagef("--%s %q is not an address; write HOST:PORT or :PORT", flag, address)
		}
	}
	if _, err := egress.New(o.PushAllow); err != nil {
		return usagef("--push-allow: %v", err)
	}
	service.Tune()
	began := r.Clock.Now()
	p, report, err := start(ctx, o)
	if err != nil {
		return unstarted(err, o)
	}
	lines := serving(p, o, report)
	lines = append(lines, "", "Ready in "+took(r.Clock.Now().Sub(began))+". Ctrl-C stops.")
	if err := r.say(lines...); err != nil {
		return errors.Join(err, stop(ctx, p))
	}
	debug.FreeOSMemory() // a start needs more than what follows, and would keep it
	select {
	case <-ctx.Done():
		fmt.Fprintln(r.Err, "Stopping; what runs goes on at the next start.")
		return stop(ctx, p)
	case err := <-p.Failed():
		return errors.Join(fmt.Errorf("a service can no longer serve: %w", err), stop(ctx, p))
	}
}

// start starts a platform and brings its documents in. That is done here, once
// the data folder is known to be this platform's, for the sake of the report.
func start(ctx context.Context, o platform.Options) (*platform.Platform, string, error) {
	docs := o.Docs
	if docs != "" {
		if err := checkDocs(docs); err != nil {
			return nil, "", err
		}
	}
	o.Docs = ""
	p, err := platform.Start(ctx, o)
	if err != nil || docs == "" {
		return p, "", err
	}
	report, err := research.Ingest(ctx, research.Config{Config: service.Config{Database: p.Database(research.Name)}}, docs)
	if err != nil {
		return nil, "", errors.Join(err, stop(ctx, p))
	}
	return p, report.String(), nil
}

func checkDocs(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &failure{ExitFailure, fmt.Sprintf("the documents folder %s does not exist", dir), "Make it, or name another with --docs"}
	case err != nil:
		return fmt.Errorf("the documents folder: %w", err)
	case !info.IsDir():
		return &failure{ExitFailure, fmt.Sprintf("%s is a file", dir), "Name the folder that it is in with --docs"}
	}
	return nil
}

// researchDatabase is where a platform keeps its documents.
func researchDatabase(data string) string {
	return "sqlite:" + filepath.Join(data, research.Name+".db")
}

// stop stops a platform also when ctx has ended.
func stop(ctx context.Context, p *platform.Platform) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWithin)
	defer cancel()
	return p.Stop(ctx)
}

// unstarted says why a platform did not start and what to do.
func unstarted(err error, o platform.Options) error {
	var op *net.OpError
	switch {
	case errors.As(err, &op) && errors.Is(op.Err, syscall.EADDRINUSE):
		return taken(op.Addr, o)
	case errors.As(err, &op) && errors.Is(op.Err, syscall.EACCES):
		return &failure{ExitFailure, fmt.Sprintf("this user may not listen on %v", op.Addr), "Choose a port above 1023 with --http, --grpc or --console"}
	case errors.Is(err, sqldb.ErrNewer):
		return &failure{
			ExitFailure, fmt.Sprintf("the data folder %s was written by a newer release than this one; nothing in it was changed", o.Data),
			"Run that release, restore a backup made by this one, or name another folder with --data",
		}
	}
	return err
}

// taken names the flag of a port that is in use.
func taken(addr net.Addr, o platform.Options) error {
	_, port, _ := net.SplitHostPort(addr.String())
	for _, f := range []struct{ flag, what, address, example string }{
		{"--http", "HTTP", o.HTTP, ":8090"}, {"--grpc", "gRPC", o.GRPC, ":9190"}, {"--console", "the console", o.Console, ":8091"},
	} {
		if _, p, _ := net.SplitHostPort(f.address); p == port {
			return &failure{
				ExitFailure, fmt.Sprintf("port %s is taken, so %s cannot be served on it", port, f.what),
				fmt.Sprintf("Stop what uses it, or choose another: sabha up %s %s", f.flag, f.example),
			}
		}
	}
	return &failure{ExitFailure, fmt.Sprintf("%v is taken", addr), "Choose other ports with --http, --grpc and --console"}
}

// serving tells what a platform offers and how to begin.
func serving(p *platform.Platform, o platform.Options, report string) []string {
	scheme := "http://"
	if o.PublicTLS != "" {
		scheme = "https://"
	}
	lines := []string{
		"Sabha serves",
		"  HTTP      " + scheme + reachable(p.HTTPAddr()) + "  (A2A, JSON-RPC at /rpc, card at /.well-known/agent-card.json)",
		"  gRPC      " + reachable(p.GRPCAddr()),
		"  Console   " + scheme + reachable(p.ConsoleAddr()),
	}
	if o.PublicURL != "" {
		lines = append(lines, "  Public    "+o.PublicURL)
	}
	lines = append(lines, "  Data      "+o.Data)
	if u, err := url.Parse(o.Database); err == nil && o.Database != "" {
		lines = append(lines, "  Database  "+u.Redacted())
	}
	documents := "none; add some with: sabha ingest DIR --data " + o.Data
	if o.Docs != "" {
		documents = o.Docs + ": " + strings.ReplaceAll(report, "\n", "\n          ")
	}
	lines = append(lines, "  Documents "+documents, "")
	if p.FirstPassword != "" {
		lines = append(lines, "The password of the console's first account is shown only now; keep it. Sign in with:",
			"  Name      admin", "  Password  "+p.FirstPassword, "")
	}
	if p.FirstKey == "" {
		return append(lines, "Ask with a key that was made earlier:", `  SABHA_KEY=… sabha ask `+serverFlag(p, scheme)+`"…"`)
	}
	return append(lines, "The first API key is shown only now; keep it. Ask with:",
		"  export SABHA_KEY="+p.FirstKey, `  sabha ask `+serverFlag(p, scheme)+`"…"`)
}

// serverFlag names the server where it is not the one that commands call anyway.
func serverFlag(p *platform.Platform, scheme string) string {
	if _, port, _ := net.SplitHostPort(p.HTTPAddr()); port == "8080" && scheme == "http://" {
		return ""
	}
	return "--server " + scheme + reachable(p.HTTPAddr()) + " "
}

func webAddress(address string) string { return "http://" + reachable(address) }

// reachable is an address to call for one that is listened on.
func reachable(address string) string {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	if ip := net.ParseIP(host); host == "" || (ip != nil && ip.IsUnspecified()) {
		host = "localhost"
	}
	return net.JoinHostPort(cmp.Or(host, "localhost"), port)
}
