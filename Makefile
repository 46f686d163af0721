# make demo    one static binary, and the text of the demo recording
# make check   everything that must hold; what CI runs
# make help    the rest

VERSION := $(shell git describe --always --dirty 2>/dev/null || echo source)
GO      := CGO_ENABLED=0 go
LINK    := -trimpath -ldflags='-s -w -X main.version=$(VERSION)'
BIN     := bin/verity
# Systems and processors that must at least compile.
CROSS   := linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64
# Rooms whose bits depend on the instruction set, and rooms that share state.
BITS    := ./internal/kernel ./encoder ./decoder ./selftest
# Of these, the tests in which goroutines meet: statistics take minutes under the race
# detector.
SHARING := Pool|Run|For|Close|Panic|Batch|Fork|Concurrent|Interrupt|Watch|Grid|Generat|Kill|Workers|Join|StopsEarly
SHARED  := ./internal/parallel ./decoder ./assistant ./transcribe ./eval ./report

.PHONY: build demo test check format vet arch bits purego race bench bench-report bench-large bench-hostile snr grid fuzz generate cross help

build: ## the program, ./bin/verity
	$(GO) build $(LINK) -o $(BIN) ./cmd/verity

demo: build ## transcribe models/demo/demo.wav
	$(BIN) transcribe models/demo/demo.wav

test: ## all tests
	go test -timeout 10m ./...

check: format vet arch test bits purego race ## everything that must hold

format: ## gofmt
	@out=$$(gofmt -l .); if [ -n "$$out" ]; then echo "gofmt -w needed: $$out"; exit 1; fi

# vet compiles what it looks at, tests too: a minute of work for each system on a
# fresh machine, so those that differ in files stand for all; make cross has the rest.
vet: ## go vet here, without assembly, and for other systems and processors
	go vet ./...
	go vet -tags purego ./...
	@for p in darwin/arm64 windows/amd64; do \
		echo "vet $$p"; CGO_ENABLED=0 GOOS=$${p%/*} GOARCH=$${p#*/} go vet ./... || exit 1; \
	done

arch: ## the import plan and the package comments
	go test -count=1 .

# -count=1: the test cache does not see a variable that is read before main.
bits: ## the same bits from every instruction set
	@for off in avx512 avx512,avx2; do \
		echo "VERITY_DISABLE=$$off"; \
		VERITY_DISABLE=$$off go test -count=1 -short -timeout 10m $(BITS) || exit 1; \
	done

purego: ## the same without any assembly
	go test -count=1 -short -timeout 10m -tags purego ./internal/kernel ./selftest

race: ## rooms that share state, under the race detector
	@if [ "$$(go env CGO_ENABLED)" = 1 ] && command -v "$$(go env CC)" >/dev/null; then \
		go test -race -short -timeout 10m -cpu 1,4 -run '$(SHARING)' $(SHARED); \
	else \
		echo "*** SKIPPED: make race needs a C compiler ($$(go env CC)) ***"; \
	fi

bench: ## benchmarks
	go test -run '^$$' -bench . -benchtime 1s ./...

bench-report: ## time and memory of scoring 100,000 utterances
	go test -run '^$$' -bench Report -benchtime 1x ./report

# An hour or more, and 13 GB of disk: not for CI. SIZE=tiny tries it out.
SIZE ?= large-v2
bench-large: build ## the published tables of assisted decoding, planted large-v2, as Markdown
	tools/bench-large.sh $(BIN) $(SIZE)

bench-hostile: build ## what assistants cost that are never right; SIZE=base takes a minute or two
	tools/bench-large.sh $(BIN) $(SIZE) hostile

grid: ## assisted equals plain on real speech: every point, not a sample
	VERITY_GRID=all go test -count=1 -timeout 60m -run TestGrid -v ./transcribe

snr: ## how far int8 products are from exact ones, for each kind of layer of large-v2
	go test -count=1 -v -run TestSNR ./internal/layer

FUZZTIME ?= 10s
fuzz: ## every fuzz target for FUZZTIME (10s)
	@grep -rl --include='*_test.go' '^func Fuzz' . | xargs -n1 dirname | sort -u | while read -r dir; do \
		go test -list '^Fuzz' $$dir | grep '^Fuzz' | while read -r name; do \
			echo "$$dir $$name"; \
			go test -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 20x $$dir || exit 1; \
		done || exit 1; \
	done

generate: ## write the generated files again; the tree must stay clean
	go generate ./...
	@new=$$(git status --porcelain); if [ -n "$$new" ]; then \
		git --no-pager diff; echo "the tree is not clean:"; echo "$$new"; exit 1; \
	fi

cross: ## programs for every system and processor, in dist
	@for p in $(CROSS); do \
		out=dist/verity-$${p%/*}-$${p#*/}; case $$p in windows/*) out=$$out.exe;; esac; \
		echo $$out; GOOS=$${p%/*} GOARCH=$${p#*/} $(GO) build $(LINK) -o $$out ./cmd/verity || exit 1; \
	done

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 12
