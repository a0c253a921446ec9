# Shortcuts. Everything here can be run without make: see .ci/ for the scripts.

.PHONY: build test race lint bench generate proto results ci

build: ## the sprat binary, here
	go build -o sprat ./cmd/sprat

test:
	go test ./...

race:
	go test -race ./...

lint: ## formatting, vet, staticcheck and the repository's own rules
	.ci/lint
	go test ./internal/checks

bench: ## every benchmark of the hot path, ready for benchstat
	.ci/bench -benchmem -count 6

generate: ## assembly from its generator
	go generate ./rq/simd

proto: ## the Go code of the gRPC API from its .proto files; buf.gen.yaml pins the generators
	cd server/grpc/proto && go run github.com/bufbuild/buf/cmd/buf@v1.75.0 lint && \
		go run github.com/bufbuild/buf/cmd/buf@v1.75.0 generate

results: ## the figures of the README, by the command that the README names
	$$(.ci/readme 'go run ./cmd/sprat bench')

ci:
	.ci/run
