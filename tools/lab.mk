# Targets for releases, measurements and platforms that daily work does not need; the Makefile
# includes this file. make help-lab lists them.

# Tools are pinned here, not in go.mod, and run by their version.
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOVULNCHECK := golang.org/x/vuln/cmd/govulncheck@v1.8.0
# Other people's large packages compile in two thirds of the time without optimisation.
QUICKLY := $(foreach of,github.com/apache/beam github.com/aws cloud.google.com github.com/envoyproxy \
	google.golang.org/grpc google.golang.org/api google.golang.org/genproto github.com/openai,-gcflags='$(of)/...=-N -l')


.PHONY: vet-all static vulnerabilities licences purego arm64 arm64-short fuzz-short windows-test release wheel reproducible verity-beam cluster-test cluster \
	benchstat bench-report bench-cpu bench-large bench-hostile pair bench-peers snr drafts encoder-drafts draft-lengths drafter grid page live accuracy invented clients clients-go proof proof-quick weights help-lab

help-lab: ## this list
	@sed -n 's/^\([a-z0-9-]*\):.*## /\1\t/p' tools/lab.mk | expand -t 16

## Checks

vet-all: ## go vet for the six platforms of a release
	@$(MAKE) --no-print-directory vet VET='linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64'

licences: ## check that docs/dev/LICENCES.md is current
	tools/licences.sh | diff docs/dev/LICENCES.md -

static: ## staticcheck: unused names and likely mistakes
	go run $(STATICCHECK) ./...

# The database of vulnerabilities is on the network, so this is not part of check. Exit status 3 is
# a finding.
vulnerabilities: ## govulncheck: known vulnerabilities in code that the program calls
	@out=$$(go run $(GOVULNCHECK) ./cmd/verity 2>&1); code=$$?; echo "$$out"; \
	case "$$out" in \
	*"fetching vulnerabilities"*) echo "*** SKIPPED: the database of vulnerabilities cannot be reached ***";; \
	*) exit $$code;; \
	esac

# VERITY_DISABLE=avx512,avx2 runs the same reference in make bits, so one hash of the whole model is
# enough.
purego: ## the tests of kernels without any assembly
	go test -vet=off -count=1 -short -timeout 30m -tags purego ./internal/kernel ./parallel
	go test -vet=off -count=1 -short -timeout 30m -tags purego -run 'TestDemoHash/^f16$$' ./decoder

# Processors of three tiers: i8mm, dotprod, and NEON alone. Each takes some seven minutes on two
# cores, and five more with ARM64_MODEL. CI runs arm64-short: one tier, a few tests of kernels. Each runs
#   - all tests of kernels and of threads, except those that time, run llvm-mc or the generators;
#   - the tests of make bits, at its sizes for plain Go: all logits and encodings, and the greedy text
#     of one checkpoint;
#   - the committed hashes of the demo model, in all formats, for 1 to 16 rows and 1 and 2 threads;
#   - a transcription of jfk.flac, drafted from its own text, which must equal amd64's without drafts,
#     statistics aside: with the model inside (int8), and with ARM64_MODEL=DIR in int8 and f16.
QEMU  ?= $(firstword $(shell command -v qemu-aarch64-static qemu-aarch64 2>/dev/null))
ARM64 ?= max cortex-a76 cortex-a53
arm64: ## kernels and whole networks for arm64 under qemu: the same bits as amd64
	@[ -n "$(QEMU)" ] || { echo "*** SKIPPED: make arm64 needs qemu-aarch64 (Debian: qemu-user-static) ***"; exit 0; }; \
	set -e; export VERITY_REQUIRE=neon; tmp=$$(mktemp -d); trap 'rm -rf "$$tmp"' EXIT; \
	for dir in internal/kernel parallel $(if $(SHORT),,encoder decoder diarize); do \
		GOARCH=arm64 go test -c -vet=off -o "$$tmp/$$(basename $$dir).test" ./$$dir; \
	done; \
	plain='transcribe -q -f json model/base/jfk.flac'; \
	formats="$(if $(SHORT),,int4 $(if $(ARM64_MODEL),int8 f16))"; \
	model() { [ $$1 = int4 ] || echo "--model $(ARM64_MODEL) --precision $$1"; }; \
	if [ -n "$$formats" ]; then \
		go build -o "$$tmp/amd64" ./cmd/verity; GOARCH=arm64 go build -o "$$tmp/arm64" ./cmd/verity; \
		for f in $$formats; do "$$tmp/amd64" $$plain $$(model $$f) > "$$tmp/$$f.json"; done; \
	fi; \
	tests() { \
		dir=$$1; shift; \
		(cd $$dir && $(QEMU) -cpu $$cpu "$$tmp/$$(basename $$dir).test" -test.short "$$@" > "$$tmp/log" 2>&1) || { cat "$$tmp/log"; return 1; }; \
		echo "ok  	$$dir"; \
	}; \
	for cpu in $(ARM64); do \
		echo "qemu-aarch64 -cpu $$cpu"; \
		for f in $$formats; do \
			$(QEMU) -cpu $$cpu "$$tmp/arm64" $$plain $$(model $$f) --draft-from "$$tmp/$$f.json" > "$$tmp/out.json"; \
			for side in $$f out; do sed 's/,"stats":.*//' "$$tmp/$$side.json" > "$$tmp/$$side.text"; done; \
			cmp "$$tmp/$$f.text" "$$tmp/out.text"; echo "ok  	jfk.flac in $$f is that of amd64"; \
		done; \
		tests internal/kernel -test.skip 'TestGenerated|TestCeilings|TestEncodings|TestNoEVEX' $(if $(SHORT),-test.run '$(SHORT)'); \
		tests parallel; \
		[ -z "$(SHORT)" ] || continue; \
		tests encoder -test.run '$(SAME)'; \
		tests diarize -test.run 'Bits'; \
		tests decoder -test.run '$(SAME)' -test.skip 'TestBeams|Test(Greedy|Language)Golden/[^o]'; \
	done

arm64-short:
	@$(MAKE) --no-print-directory arm64 ARM64=max SHORT='Rows|InterleaveBy4|Norm|Exp|Transpose|FewBitsRow|Required'

# Guidance by coverage would compile every package once more, for minutes with an empty build cache.
# The limit is a number of inputs, not a time: a worker that is slow when its time ends fails with
# "context deadline exceeded".
fuzz-short: ## every fuzz target for 2,000 inputs, not guided by coverage
	@$(MAKE) --no-print-directory fuzz FUZZTIME=2000x GUIDED=

grid: ## assisted equals plain on real speech: every combination, not a sample
	VERITY_GRID=all go test -count=1 -timeout 90m -run 'TestGrid|TestOptionsLossless' -v ./transcribe
	VERITY_DISABLE=avx512 go test -count=1 -timeout 30m -run TestGridBase -v ./transcribe
	VERITY_DISABLE=avx512,avx2 go test -count=1 -timeout 60m -run TestGridBase -v ./transcribe

windows-test: build ## try the program for Windows under Wine (tools/windows/test.sh)
	tools/windows/test.sh $(BIN)

## The module cmd/verity-beam

verity-beam: ## build ./bin/verity-beam: evaluation on a cluster (docs/CLUSTER.md)
	cd cmd/verity-beam && go build $(LINK) -o ../../bin/verity-beam .

# Skipped with a line where the engine's modules cannot be fetched. -mod=mod, since a new dependency
# of verity is one of this module, too. go vet analyses every
# package of the engine, for a minute of processor time: make cluster does that.
cluster-test: ## tests of the module cmd/verity-beam, in one process
	@if out=$$(cd cmd/verity-beam && go mod download 2>&1); then \
		cd cmd/verity-beam && go test -mod=mod -vet=off $(QUICKLY) -timeout 30m ./... ; \
	else \
		echo "$$out" | tail -n 3; \
		echo "*** SKIPPED: make cluster-test cannot fetch the modules of the cluster engine ***"; \
	fi

cluster: build verity-beam ## kill a worker process during a job, on prism and on Flink
	cd cmd/verity-beam && go vet ./... && go run $(STATICCHECK) ./...
	cmd/verity-beam/cluster.sh $(BIN) bin/verity-beam
	cmd/verity-beam/flink/flink.sh $(BIN) bin/verity-beam

## Releases

release: ## archives for six platforms, Debian packages and, with URL=, a Homebrew formula, in dist
	URL=$(URL) tools/dist.sh $(VERSION) dist

wheel: ## Python wheels for all platforms, or for PLATFORM=linux/arm64,…, in dist; tries the one of this machine
	python3 tools/wheel/build.py --version $(VERSION) --out dist --test --platforms $(or $(PLATFORM),all)

# The second build has an empty build cache and a directory of another name.
PLATFORMS ?= linux/amd64,windows/arm64
reproducible: ## build PLATFORMS twice and compare the bytes
	tools/reproducible.sh $(VERSION) $(PLATFORMS)

## Measurements

BENCH   ?= .
PACKAGE ?= internal/kernel
benchstat: ## compare benchmarks of BASE=revision and of this tree; BENCH=pattern PACKAGE=directory
	@tools/benchstat.sh "$(BASE)" '$(BENCH)' $(PACKAGE)

bench-report: ## time and memory of scoring 100,000 utterances
	go test -run '^$$' -bench Report -benchtime 1x ./eval/report

bench-cpu: build ## ceilings, shares and verify passes of this processor, as Markdown
	tools/bench-cpu.sh $(BIN)

# An hour or more, and 13 GB of disk. SIZE=tiny is a quick trial.
SIZE ?= large-v2
bench-large: build ## the tables of assisted decoding on planted large-v2, as Markdown
	tools/bench-large.sh $(BIN) $(SIZE)

# Needs the weights in the cache (verity models pull large-v2, distil-large-v2, tiny), and downloads the data. Prints a row for
# plain decoding and one with the assistant of each pair.
LIBRI ?= hf:hf-internal-testing/librispeech_asr_dummy:clean:validation
DUTCH ?= hf:facebook/voxpopuli:nl:validation
pair: build ## the two rows of Hugging Face's article: large-v2 with distil-large-v2, and with tiny in Dutch; LIBRI=… DUTCH=…
	rm -rf bin/pair
	for m in large-v2 distil-large-v2 tiny; do HF_HUB_OFFLINE=1 $(BIN) info $$m >/dev/null || exit; done
	$(BIN) compare --quiet -m large-v2 -a distil-large-v2 --precision f16 -l en --normalizer english --limit 73 -d $(LIBRI) --out bin/pair/en >/dev/null
	$(BIN) compare --quiet -m large-v2 -a tiny --precision f16 -l nl --normalizer english --limit 73 -d $(DUTCH) --columns audio,normalized_text --out bin/pair/nl >/dev/null
	for l in en nl; do echo; echo "large-v2, $$l"; $(BIN) report bin/pair/$$l | grep -E '^ *(utterances|word error rate|decoding|sound to text|time of work) '; done

bench-hostile: build ## the cost of assistants that are never right; SIZE=base takes a minute or two
	tools/bench-large.sh $(BIN) $(SIZE) hostile

drafts: build ## the gain of drafts from text, as Markdown: MODEL=DIR DATASET=DIR TEXTS=… (tools/drafts.sh)
	tools/drafts.sh $(BIN) $(MODEL) $(DATASET) $(TEXTS)

encoder-drafts: build ## the gain of drafts from the encoder's output, as Markdown: MODEL=DIR DATA=DIR ROWS=…
	tools/encoder-drafts.sh $(BIN) $(MODEL) $(DATA) $(ROWS)

draft-lengths: build ## automatic draft lengths beside constant ones: MODEL=DIR DATASET=DIR FLAGS="--threads 1 …"
	$(BIN) compare --quiet --language en --model $(MODEL) --dataset $(DATASET) $(FLAGS) \
		$(foreach n,auto 2 3 4 5 6 8 12,--draft-tokens $(n)) | grep -A3 '^auto against' | grep -E 'against|decoding'

drafter: ## train the network that drafts for a model's encoder: MODEL=DIR SOUND=DIR OUT=DIR STEPS=2740 START=FILE
	tools/drafter/train.sh "$(MODEL)" "$(SOUND)" "$(OUT)" "$(or $(STEPS),2740)" "$(START)"

snr: ## signal over noise of int8 products, for each kind of layer of large-v2
	go test -count=1 -v -run TestSNR ./internal/layer

# MODEL=DIR replaces the model inside, MANIFEST=FILE the recordings of the repository.
MANIFEST ?= model/base/librispeech/manifest.jsonl
live: ## live text at the pace of speech: word error rate and delay of words
	go run ./tools/live $(if $(MODEL),-model $(MODEL)) $(MANIFEST)

## The server with real clients

# Needs chromium, and npm for axe-core. Look at the pictures. PART=text drives one part of tools/page/page.mjs.
PAGE := bin/page
page: build ## the server page and reports in Chromium, with axe-core; pictures in bin/page
	tools/page/run.sh $(abspath $(BIN)) $(or $(MODEL),base) model/base/jfk.flac $(abspath $(PAGE)) $(PART)

# A module of its own, so that the program does not depend on it.
clients-go: ## OpenAI's Go client against the server: formats, streaming, live sound, errors
	@if (cd tools/clients && go mod download) >/dev/null 2>&1; then \
		cd tools/clients && go test -vet=off $(QUICKLY) -count=1 -timeout 30m . ; \
	else \
		echo "*** SKIPPED: OpenAI's Go client is not here and cannot be fetched ***"; \
	fi

PYTHON  ?= python3
CLIENTS := bin/clients
SOUND   := model/digits/digits.wav
clients: build clients-go ## the same with OpenAI's Python and JavaScript clients, Wyoming, and the programs in examples
	cd tools/clients && go vet ./...
	$(PYTHON) -m venv $(CLIENTS) && $(CLIENTS)/bin/pip install --quiet openai==3.57.0 websockets==17.4 wyoming==1.10.2
	$(CLIENTS)/bin/python tools/clients/openai_python.py $(BIN) model/digits/target $(SOUND)
	$(CLIENTS)/bin/python tools/clients/wyoming_python.py $(BIN) model/digits/target $(SOUND)
	@if command -v npm >/dev/null && command -v openssl >/dev/null; then \
		npm install --silent --no-save --prefix $(CLIENTS) openai@7.57.0 ws@8.23.0 && \
		cd $(CLIENTS) && node $(CURDIR)/tools/clients/openai_js.mjs $(abspath $(BIN)) $(abspath model/digits/target) $(abspath $(SOUND)); \
	else \
		echo "*** SKIPPED: OpenAI's JavaScript client: it needs npm, and openssl for its live sessions ***"; \
	fi
	tools/clients/examples.sh $(BIN) $(CLIENTS)/bin/python

ACCURACY := bin/accuracy
SYSTEMS  := inside=$(BIN)
accuracy: build ## words on hard sound, as Markdown: SYSTEMS='base=$(BIN) -m DIR' WORDS=300 (docs/ACCURACY.md)
	go run ./tools/accuracy -build $(ACCURACY)
	go run ./tools/accuracy -systems "$(SYSTEMS)" $(if $(WORDS),-words $(WORDS)) -keep $(ACCURACY)/texts.jsonl $(ACCURACY)

invented: build ## words invented where nobody speaks, in every mode (tools/accuracy/invented.py)
	go run ./tools/accuracy -build -only nospeech bin/nospeech
	$(PYTHON) tools/accuracy/invented.py --verity $(BIN) bin/nospeech/nospeech/*.wav

SUITE :=
proof: build ## tests that others wrote, as one table: SUITE=name,… WRITE=1 for docs/PROOF.md (tools/proof)
	$(PYTHON) tools/proof/proof.py --verity $(BIN) $(if $(SUITE),--suite $(SUITE)) $(if $(WRITE),--write docs/PROOF.md)

proof-quick: build ## the part of proof that needs nothing but pip
	@if $(PYTHON) -c 'import venv, ensurepip' >/dev/null 2>&1; then \
		$(PYTHON) tools/proof/proof.py --verity $(BIN) --quick; \
	else \
		echo "*** SKIPPED: make proof-quick needs Python 3.10 with venv ***"; \
	fi

weights: ## real weights of Whisper base and tiny.en in bin/weights, for proof and bench-peers (tools/weights.sh)
	@test -f bin/weights/base/model.bin -a -f bin/weights/tiny.en/model.bin || tools/weights.sh bin/weights

bench-peers: build ## install other engines and time them beside verity: PEERS="--rounds 1 …" (tools/bench-peers.py)
	$(PYTHON) tools/bench-peers.py --verity $(BIN) $(PEERS)

