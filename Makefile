# make demo    build one static program and transcribe two recordings with it, one of two speakers
# make test    the tests
# make help    everything else

VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo source)
LINK    := -ldflags='-s -w -X main.version=$(VERSION)'
BIN     := bin/verity
# Everything is compiled as the program is, without cgo and without paths of this machine, so
# that all targets share one build cache.
export CGO_ENABLED := 0
export GOFLAGS := $(GOFLAGS) -trimpath

# Packages whose results depend on the instruction set, and their tests that compare bits.
BITS := ./encoder ./decoder ./diarize
SAME := Golden|Rows|Threads|Bits|Hash|Cosine
# Packages that start goroutines. In their tests testmodel.Serial marks long ones in which no
# two goroutines meet. Left out because they take minutes and their parts are tested here:
# audio, cmd/verity.
SHARED := ./parallel ./decoder/schedule ./decoder ./transcribe ./transcribe/live ./serve ./eval ./eval/report ./model/hub \
	./cmd/internal/text ./cmd/internal/serving ./cmd/internal/cli ./internal/formats/weights

.PHONY: build demo install test test-all check format vet race bits fuzz generate bench help

build: ## build ./bin/verity
	go build $(LINK) -o $(BIN) ./cmd/verity

demo: build ## build it and transcribe a recording of 11 s, then a conversation of two speakers
	$(BIN) transcribe --output-format vtt model/base/jfk.flac
	$(BIN) transcribe --speakers voice examples/conversation.opus

PREFIX ?= /usr/local
install: build ## install the program, completions and man pages under PREFIX (/usr/local)
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/share/bash-completion/completions
	install -d $(DESTDIR)$(PREFIX)/share/zsh/site-functions $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d
	install -m 755 $(BIN) $(DESTDIR)$(PREFIX)/bin/verity
	$(BIN) completion bash > $(DESTDIR)$(PREFIX)/share/bash-completion/completions/verity
	$(BIN) completion zsh > $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_verity
	$(BIN) completion fish > $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/verity.fish
	$(BIN) manual $(DESTDIR)$(PREFIX)/share/man/man1

# tools/testsummary is go test; at the end it counts what was skipped, and why.
PACKAGES ?= ./...
test: ## all tests, the longest of them shortened; what was skipped, and why
	@go run ./tools/testsummary -vet=off -short -timeout 30m $(if $(RUN),-run '$(RUN)') $(PACKAGES)

test-all: ## all tests at full length
	@go run ./tools/testsummary -vet=off -timeout 30m $(PACKAGES)

# Most targets in BESIDE compile other people's packages for minutes, mostly on one core; they
# use what the tests leave idle. proof-quick mostly waits for pip.
BESIDE := static cluster-test clients-go proof-quick
check: ## everything that must hold; CI runs this
	@log=$$(mktemp) && trap 'rm -f "$$log"' EXIT && \
	{ nice -n 19 $(MAKE) $(BESIDE) >"$$log" 2>&1 & beside=$$!; code=0; \
	$(MAKE) format licences vet test fuzz-short bits purego arm64-short race || code=1; \
	wait $$beside || code=1; cat "$$log"; exit $$code; }

format: ## check that gofmt has nothing to change
	@out=$$(gofmt -l .); if [ -n "$$out" ]; then echo "gofmt -w needed: $$out"; exit 1; fi

# go vet for another system first compiles every dependency for it, for minutes. So here tools/lint
# checks the types for other systems from source, and vet only assembly; make vet-all vets all six.
VET ?= $(shell go env GOOS)/$(shell go env GOARCH)
ASSEMBLY := ./internal/kernel ./parallel
vet: ## go vet for this machine (VET), and assembly of arm64
	@for platform in $(VET); do \
		echo "go vet for $$platform"; GOOS=$${platform%/*} GOARCH=$${platform#*/} go vet ./... || exit 1; \
	done
	GOOS=windows GOARCH=arm64 go vet $(ASSEMBLY)
	go vet -tags purego $(ASSEMBLY)

race: ## tests of packages that start goroutines, under the race detector
	@if command -v "$$(go env CC)" >/dev/null; then \
		CGO_ENABLED=1 go test -vet=off -race -short -timeout 30m -cpu 4 $(SHARED); \
	else \
		echo "*** SKIPPED: make race needs a C compiler ($$(go env CC)) ***"; \
	fi

# -count=1, since the test cache does not see a variable that is read before main. -p 1, since
# the threads of these packages spin while they wait for one another.
bits: ## the same results from every instruction set
	@for off in avx512,avxvnni avx512,avx2; do \
		echo "VERITY_DISABLE=$$off"; \
		VERITY_DISABLE=$$off go test -vet=off -count=1 -short -p 1 -timeout 30m -run '$(SAME)' $(BITS) || exit 1; \
	done

# Each package is built for fuzzing once, not for every target. New inputs are kept where
# go test would keep them.
FUZZTIME ?= 10s
GUIDED   ?= -fuzz=Fuzz
fuzz: ## every fuzz target for FUZZTIME (10s)
	@tmp=$$(mktemp -d) && trap 'rm -rf "$$tmp"' EXIT && \
	for dir in $$(grep -rl --include='*_test.go' '^func Fuzz' . | xargs -n1 dirname | sort -u); do \
		go test -c -vet=off $(GUIDED) -o "$$tmp/fuzz.test" $$dir || exit 1; \
		for name in $$(cd $$dir && "$$tmp/fuzz.test" -test.list '^Fuzz'); do \
			echo "$$dir $$name"; \
			(cd $$dir && "$$tmp/fuzz.test" -test.run '^$$' -test.fuzz "^$$name\$$" -test.fuzztime $(FUZZTIME) \
				-test.fuzzminimizetime 20x -test.fuzzcachedir "$$(go env GOCACHE)/fuzz/verity/$$dir") || exit 1; \
		done || exit 1; \
	done

generate: ## write generated files again; the tree must stay clean
	go generate ./...
	@new=$$(git status --porcelain); if [ -n "$$new" ]; then \
		git --no-pager diff; echo "the tree is not clean:"; echo "$$new"; exit 1; \
	fi

bench: ## all benchmarks
	go test -run '^$$' -bench . -benchtime 1s ./...

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 12
	@echo; echo "More, for releases, measurements and other platforms: make help-lab"

include tools/lab.mk
