# Two commands: `make demo` and `make test`. Everything else is for those who
# work on lookalike itself.

CARGO ?= cargo
CORPORA ?= ../shared/corpora
LOOKALIKE = target/release/lookalike
# What `make test` builds everything with, once: real text needs some optimisation, and
# the release profile would compile every dependency again.
TESTED = target/debug/lookalike

.PHONY: demo build test lint unit clients python spark wheel bench-python bench-spark load screenshots doc fuzz-build truth bench bench-peers bench-scale bench-find bench-sweeps surprise soak avx512 bench-collapse bench-filters

demo: build
	@sh demo/tour.sh $(LOOKALIKE)

build:
	$(CARGO) build --release --locked -p lookalike-cli

# What CI runs: formatting, lints, documentation, tests, real clients, fuzz targets,
# licences, and the figures on the shared corpora when they are there.
test: lint unit python spark clients doc fuzz-build
	@if [ -d "$(CORPORA)" ]; then $(MAKE) truth CORPORA="$(CORPORA)" PROFILE=dev; \
	else echo "make truth skipped: no corpora at $(CORPORA)"; fi

lint:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	sh scripts/check-tree
	sh scripts/check-licences

unit:
	LOOKALIKE_CORPORA="$$(if [ -d '$(CORPORA)' ]; then cd '$(CORPORA)' && pwd; fi)" \
	  $(CARGO) test --workspace --locked

# The Python package, in a clean environment; its answers are those of the program.
python:
	sh scripts/python

# The job on Apache Spark, on a cluster of its own; the wheel is that of `make python`.
spark:
	KEEP_WHEEL=1 sh scripts/spark

# The wheel that ships, for every Python from 3.10 on: target/wheels.
wheel:
	sh scripts/wheel

# pyarrow, DuckDB, Polars, pandas, warcio, wget, Chromium and Schemathesis against the program.
clients:
	$(CARGO) build --locked --workspace --bin lookalike
	LOOKALIKE=$(TESTED) \
	  LOOKALIKE_CORPORA="$$(if [ -d '$(CORPORA)' ]; then cd '$(CORPORA)' && pwd; fi)" \
	  sh scripts/clients

# A service under load, by wrk: COLLECTION=… QUERIES=….jsonl SECONDS=… RECORD=….
load: build
	LOOKALIKE=$(LOOKALIKE) COLLECTION="$(COLLECTION)" QUERIES="$(QUERIES)" SECONDS="$(SECONDS)" RECORD="$(RECORD)" \
	  sh scripts/clients service_load

# docs/screenshots, by Chromium, of the crawl that ships with the source.
screenshots: build
	LOOKALIKE=$(LOOKALIKE) sh scripts/clients screenshots

doc:
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --locked

# Fuzz targets build with the stable compiler and run a few thousand inputs each.
fuzz-build:
	WATCH=targets sh scripts/fuzz 5

# One table: figure, measured, target.
PROFILE ?= release
truth:
	$(CARGO) build --profile $(PROFILE) --locked -q --workspace --bin truth
	target/$(if $(filter dev,$(PROFILE)),debug,$(PROFILE))/truth $(CORPORA)

# Ratios within one run, on one core; NAME=… names the record.
bench:
	$(CARGO) build --release --locked -p lookalike-benchmarks
	sh scripts/bench-corpus $(wildcard $(CORPORA))
	target/release/speed $(NAME)

# 100,000 rows through Python and through the command: processor time, memory, threads.
bench-python: build wheel
	LOOKALIKE=$(LOOKALIKE) sh scripts/bench-python $(NAME)

# The job on Spark beside the engine, 200,000 and 400,000 generated documents.
bench-spark: build wheel
	PROFILE=release KEEP_WHEEL=1 sh scripts/spark bench $(NAME)

# Beside an exact program and the libraries people would take instead, on 1 GB of real
# documents. Needs the network the first time; BENCH_DATA=… says where all is kept.
bench-peers:
	scripts/bench-documents
	scripts/bench-peers

# A million documents and three, piped from the generator.
bench-scale:
	$(CARGO) build --release --locked -p lookalike-benchmarks -p lookalike-cli
	target/release/scale $(NAME)

# A filter beside the default recipe: bytes, CPU, what it finds and misses.
bench-filters:
	$(CARGO) build --release --locked -p lookalike-benchmarks -p lookalike-cli
	target/release/filters $(NAME)

# A document against a million: the collections are made in BENCH_DATA, if they are not there.
bench-find:
	$(CARGO) build --release --locked -p lookalike-benchmarks -p lookalike-cli
	target/release/find $(NAME)

# A hundred lists of a hundred results, collapsed over HTTP.
bench-collapse:
	$(CARGO) build --release --locked -p lookalike-benchmarks -p lookalike-cli
	target/release/collapse target/release/lookalike $(CORPORA)/sweeps-kubernetes

# A sweep like the last one, and sweeps one by one, beside the first and all at once. Also of
# five times 8,000 documents, where scripts/bench-documents has made them.
comma := ,
commas = $(subst $(eval ) ,$(comma),$(sort $(wildcard $(1))))
BENCH_DATA ?= target/bench
bench-sweeps:
	$(CARGO) build --release --locked -p lookalike-benchmarks -p lookalike-cli
	mkdir -p $(BENCH_DATA)/sweeps
	[ ! -f $(BENCH_DATA)/documents.jsonl ] || head -n 40000 $(BENCH_DATA)/documents.jsonl | \
	  split -l 8000 --additional-suffix=.jsonl - $(BENCH_DATA)/sweeps/part-
	target/release/sweeps $(NAME) demo=$(call commas,demo/crawl/*.warc.gz) \
	  git-html=$(call commas,$(CORPORA)/sweeps-git-html/*.warc.gz) \
	  kubernetes=$(call commas,$(CORPORA)/sweeps-kubernetes/sweeps/*.jsonl.gz) \
	  $$(ls $(BENCH_DATA)/sweeps/part-*.jsonl 2> /dev/null | paste -sd, | sed 's/^/documents=/')

# Inputs that make other programs slow or wrong, at n, 2n and 4n: one table.
surprise:
	$(CARGO) build --release --locked -p lookalike-benchmarks --bin surprise
	target/release/surprise

# Slow: every fault at every operation, a hundred kills, a document of 1 GB, long fuzzing.
soak:
	$(CARGO) test --release --locked -p lookalike --lib --test it -- --ignored soak_
	$(CARGO) build --release --locked -p lookalike-benchmarks
	sh scripts/bench-corpus $(wildcard $(CORPORA))
	target/release/soak
	SPARK_SOAK=1 SPARK_DOCUMENTS=100000 PROFILE=release sh scripts/spark -k dies
	sh scripts/fuzz 300

# The vector code for AVX-512 on a machine that has none, in an emulator.
avx512:
	sh scripts/avx512-tests
