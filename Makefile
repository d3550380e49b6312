# `make help` lists what can be made. Needed: Go; for lint and generate also Node.
SHELL := bash
.SHELLFLAGS := -o pipefail -c
export CGO_ENABLED ?= 0

SERVICES := $(filter-out %/eval,$(wildcard services/*/cmd/*))

.DEFAULT_GOAL := help
.PHONY: help demo up up-processes build test test-race test-e2e test-browser screenshots chaos rolling recovery soak compose-test lint generate bench bench-console bench-partners eval cover mortgage

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' Makefile

demo: bin/sabha ## ask two questions about docs/ on a throwaway platform, then stop
	bin/sabha demo

mortgage: bin/sabha ## play the mortgage scenario across two organisations (needs Node), print the audit of every hop
	go build -o bin/ ./services/gateway/cmd/gateway ./examples/mortgage ./examples/mortgage/ledger
	@[ -d examples/mortgage/underwriter/node_modules ] || npm ci --silent --prefix examples/mortgage/underwriter
	bin/mortgage

up: bin/sabha ## run the whole platform in one process: HTTP :8080, gRPC :9090, console :8081, data in ./data
	bin/sabha up $(ARGS)

up-processes: build ## run every service as a process of its own on loopback
	deploy/up-processes $(ARGS)

build: ## build every program into bin/
	go build -o bin/ $(addprefix ./,$(SERVICES)) ./cmd/sabha

bin/sabha: FORCE
	go build -o bin/ ./cmd/sabha

test: ## test all modules; says at the end what was left out for want of PostgreSQL or Node
	.ci/test work

test-race: ## test the packages with concurrency under the race detector (needs a C compiler)
	CGO_ENABLED=1 .ci/test -race -timeout=15m $$(.ci/race-packages)

test-e2e: ## test the whole platform where it has long tests, with these (build tag slow)
	.ci/test -count=1 -tags=slow -timeout=15m $$(.ci/slow-packages)

test-browser: ## test the console in Chromium (needs Debian's chromium, and Node with e2e/browser's packages)
	.ci/test -count=1 -tags=browser -timeout=15m -skip=TestScreenshots ./e2e/browser

OUT ?= bin/screenshots

screenshots: ## photograph every screen of the console, light and dark, wide and narrow, into OUT=bin/screenshots
	SCREENSHOTS=$(OUT) .ci/test -count=1 -tags=browser -timeout=15m -run=TestScreenshots ./e2e/browser

PLANS ?= 500
SEED ?= 1
MINUTES ?= 20

chaos: bin/chaos ## kill every kind of process, NATS and PostgreSQL while PLANS=500 plans run (SEED=1), account for all
	bin/chaos -plans $(PLANS) -seed $(SEED)

rolling: bin/chaos ## restart every process in turn while PLANS=500 plans run, account for all
	bin/chaos -plans $(PLANS) -seed $(SEED) -incidents rolling

recovery: bin/chaos ## measure how long it takes to go on after a loss
	bin/chaos recovery

soak: bin/chaos ## a steady load for MINUTES=20; tells whether memory, descriptors and streams level off
	bin/chaos -for $(MINUTES)m soak

bin/chaos: build FORCE
	go build -o bin/chaos ./e2e/chaos
	GOWORK=off go -C tools build -o $(CURDIR)/bin/nats-server github.com/nats-io/nats-server/v2

compose-test: ## bring the compose project up, test it while its containers are killed, take it down (root on Debian, or docker)
	deploy/compose/test $(ARGS)

lint: ## formatting, vet, staticcheck, contracts, generated code, and each module on its own
	.ci/lint

generate: ## regenerate all generated code
	tools/generate

bench: ## measure speed and memory beside the peers, one line a measure
	bench/run

bench-console: ## measure lists among 100,000 requests, every page, and fifty open ones
	bench/run -only oversight
	bench/run -only pages

bench-partners: ## measure what calls of a partner cost through partners, beside direct ones
	bench/run -only partner

# Documents of the A2A project, which are not part of this repository: measured too where they are at hand.
A2A_CORPUS ?= $(wildcard $(CURDIR)/../shared/data/corpus-a2a)

eval: ## print the quality figures of screening, retrieval, validation and detection (tests named TestEval…), simulate drift anew
	A2A_CORPUS=$(A2A_CORPUS) go test -count=1 -v -run '^TestEval' work | grep -v -e 'no tests to run' -e 'no test files' -e '^PASS$$'
	go test -count=1 -tags=slow -timeout=30m ./services/partners/internal/drift

cover: ## test all modules and print how much of the hand-written code ran, by function, in bin/cover.txt
	.ci/cover

.PHONY: FORCE
FORCE:
