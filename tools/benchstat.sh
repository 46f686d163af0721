#!/bin/sh
# Benchmarks of a revision and of the working tree, in turn, compared by benchstat.
#
#   tools/benchstat.sh REVISION [BENCH [PACKAGE]]
#
# BENCH is a pattern for go test -bench (all by default), PACKAGE a directory
# (internal/kernel by default). Old and new take turns, so that other work on the machine
# affects both.
#
# COUNT (6) rounds of TIME (0.3s) for each benchmark. UNDER is a command to run each
# round with, such as "taskset -c 0". benchstat is pinned here, not in go.mod, and
# downloaded on first use.
set -eu
benchstat=golang.org/x/perf/cmd/benchstat@v0.0.0-20260908200009-22c9c6c9d4da
revision=$1 bench=${2:-.} package=${3:-internal/kernel}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/tree"
git archive "$revision" | tar -x -C "$dir/tree"
(cd "$dir/tree" && go test -c -o "$dir/old" "./$package")
go test -c -o "$dir/new" "./$package"

cat >"$dir/round" <<-END
	for side in old new; do
		"$dir/\$side" -test.run '^$' -test.bench '$bench' -test.benchtime ${TIME:-0.3s} >>"$dir/\$side.txt"
	done
END
cd "$package"
round=0
while [ $round -lt "${COUNT:-6}" ]; do
	round=$((round + 1))
	echo "round $round" >&2
	${UNDER-} sh -eu "$dir/round"
done
cd "$dir"
go run "$benchstat" old.txt new.txt
