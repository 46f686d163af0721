# make demo    one static binary, and the text of the demo recording
# make check   everything that must hold; what CI runs
# make help    the rest

VERSION := $(shell git describe --always --dirty 2>/dev/null || echo source)
LINK    := -ldflags='-s -w -X main.version=$(VERSION)'
BIN     := bin/verity
# Everything is compiled as the program is: without cgo, and without this machine's
# paths. Otherwise make demo would compile all of it a second time.
export CGO_ENABLED := 0
export GOFLAGS := $(GOFLAGS) -trimpath
# Systems and processors that must at least compile.
CROSS   := linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64
# Rooms whose bits depend on the instruction set, and rooms that share state.
BITS    := ./internal/kernel ./encoder ./decoder ./selftest
# Of these, the tests in which goroutines meet: statistics take minutes under the race
# detector.
SHARING := Pool|Run|For|Close|Panic|Batch|Fork|Concurrent|Interrupt|Watch|Grid|Generat|Kill|Workers|Join|StopsEarly
SHARED  := ./parallel ./decoder ./assistant ./transcribe ./eval ./report

.PHONY: build demo test check format vet arch bits purego race bench benchstat bench-report bench-large bench-hostile snr grid fuzz generate cross help

build: ## the program, ./bin/verity
	go build $(LINK) -o $(BIN) ./cmd/verity

demo: build ## transcribe models/demo/demo.wav
	$(BIN) transcribe models/demo/demo.wav

test: ## all tests (make vet is for itself)
	go test -vet=off -timeout 10m ./...

check: format vet arch test bits purego race ## everything that must hold

format: ## gofmt
	@out=$$(gofmt -l .); if [ -n "$$out" ]; then echo "gofmt -w needed: $$out"; exit 1; fi

# Vet compiles what it looks at, the tests as well. Windows on arm64 lacks all that
# files are chosen by: Linux, Unix and amd64. A Unix that is not Linux matters to the
# packages with files for one alone, and purego to those with assembly. What is
# compiled for others is not run: -N -l saves a quarter. make cross has them all.
vet: ## go vet here, without assembly, and for other systems and processors
	go vet ./...
	go vet -tags purego ./internal/kernel ./parallel
	GOOS=windows GOARCH=arm64 go vet -gcflags='all=-N -l' ./...
	GOOS=darwin GOARCH=arm64 go vet -gcflags='all=-N -l' ./bench ./internal/kernel ./parallel ./internal/safetensors

arch: ## the import plan and the package comments
	go test -vet=off -count=1 .

# -count=1: the test cache does not see a variable that is read before main. -p 1: the
# threads of these packages spin for one another, and are not to do so for two at a time.
bits: ## the same bits from every instruction set
	@for off in avx512 avx512,avx2; do \
		echo "VERITY_DISABLE=$$off"; \
		VERITY_DISABLE=$$off go test -vet=off -count=1 -short -p 1 -timeout 10m $(BITS) || exit 1; \
	done

# The reference is what VERITY_DISABLE=avx512,avx2 runs, so of the whole model one test
# is enough.
purego: ## the same without any assembly
	go test -vet=off -count=1 -short -timeout 10m -tags purego ./internal/kernel ./parallel
	go test -vet=off -count=1 -short -timeout 10m -tags purego -run TestDemoHash ./selftest

race: ## rooms that share state, under the race detector
	@if command -v "$$(go env CC)" >/dev/null; then \
		CGO_ENABLED=1 go test -vet=off -race -short -timeout 10m -cpu 1,4 -run '$(SHARING)' $(SHARED); \
	else \
		echo "*** SKIPPED: make race needs a C compiler ($$(go env CC)) ***"; \
	fi

bench: ## benchmarks
	go test -run '^$$' -bench . -benchtime 1s ./...

BENCH   ?= .
PACKAGE ?= internal/kernel
benchstat: ## benchmarks of BASE=revision and of this tree, compared; BENCH=pattern PACKAGE=directory
	@tools/benchstat.sh "$(BASE)" '$(BENCH)' $(PACKAGE)

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
		echo $$out; GOOS=$${p%/*} GOARCH=$${p#*/} go build $(LINK) -o $$out ./cmd/verity || exit 1; \
	done

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 12
