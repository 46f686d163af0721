#!/bin/sh
# Measures Verity on this machine's processor; Markdown on standard output.
#
#   tools/bench-cpu.sh bin/verity [TABLE…]
#
# Tables, all if none is named:
#
#   ceilings  the most that the machine can do, measured beside each size and precision
#   encoder   log-mel, encoder, cross keys and values, and a step: times, their share of
#             the ceilings, and the parts of the encoder's share
#   passes    verify passes of 1 to 16 rows: the share of their bound
#
# Nothing is downloaded: weights are random, in memory. SIZES ("tiny base small large-v2";
# large-v2 takes most of the time, and 6 GB of memory) and PRECISIONS ("f32 f16 int8").
# WORK is a directory for results; without it they are removed at the end. A spread far above 1
# means that other work spoiled a run. Status 1 if a run failed.
set -eu
usage() {
	echo "usage: tools/bench-cpu.sh bin/verity [ceilings] [encoder] [passes]" >&2
	exit 2
}
[ $# -gt 0 ] || usage
verity=$1
shift
tables=${*:-ceilings encoder passes}
for table in $tables; do
	case $table in
	ceilings | encoder | passes) ;;
	*) usage ;;
	esac
done
sizes=${SIZES:-tiny base small large-v2} precisions=${PRECISIONS:-f32 f16 int8}
work=${WORK:-$(mktemp -d)}
[ -n "${WORK:-}" ] || trap 'rm -rf "$work"' EXIT
mkdir -p "$work"
failed=$work/failed # is there if a run failed: a subshell cannot set a variable
rm -f "$failed"

# measure leaves the result of a run in a file, on one line, and prints its name. Tables
# share the runs.
measure() { # size precision
	file=$work/$1-$2.json
	[ -e "$file" ] || {
		if "$verity" bench --json --size "$1" --precision "$2" >"$file.new"; then
			tr -d ' \n' <"$file.new" >"$file"
		else
			touch "$failed"
			: >"$file" # another table does not try again
		fi
		rm -f "$file.new"
	}
	echo "$file"
}

# number prints a number by the name of its object and its own, with a factor and digits.
number() { # file object name factor digits
	sed -n "s/.*\"$2\":{[^{}]*\"$3\":\([-0-9.e+]*\).*/\1/p" "$1" | awk -v by="$4" -v digits="$5" '{ printf "%.*f", digits, $1 * by }'
}

# every runs a table's row for each size and precision that could be measured.
every() { # row
	for size in $sizes; do
		for precision in $precisions; do
			file=$(measure "$size" "$precision")
			[ ! -s "$file" ] || "$1" "$file" "$size" "$precision"
		done
	done
}

ceilings() {
	echo "| size | precision | float32, GFLOP/s | int8, GOP/s | other vectors, GOP/s | memory, GB/s | spread |"
	echo "|---|---|---|---|---|---|---|"
	every ceiling
}

ceiling() {
	printf '| %s | %s |' "$2" "$3"
	for name in gflops gops_int8 gops_vector gbps; do
		printf ' %s |' "$(number "$1" ceiling $name 1 0)"
	done
	printf ' %s |\n' "$(number "$1" ceiling spread 1 2)"
}

encoder() {
	echo "| size | precision | log-mel, ms | encoder, ms | share | of it products, attention, vectors | cross keys and values, ms | share | a step, ms | MBU |"
	echo "|---|---|---|---|---|---|---|---|---|---|"
	every window
}

window() {
	percent() { printf '%s %%' "$(number "$file" "$1" "$2" 100 0)"; }
	printf '| %s | %s | %s | %s | %s | %s, %s, %s | %s | %s | %s | %s |\n' "$2" "$3" "$(number "$1" mel seconds 1000 1)" \
		"$(number "$1" encode seconds 1000 1)" "$(percent encode utilization)" \
		"$(percent encode products)" "$(percent encode attention)" "$(percent encode vectors)" \
		"$(number "$1" cross_kv seconds 1000 1)" "$(percent cross_kv utilization)" "$(number "$1" step seconds 1000 2)" "$(percent step mbu)"
}

passes() {
	printf '| size | precision |'
	for rows in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do printf ' %s |' $rows; done
	echo
	echo "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|"
	every pass
}

pass() {
	printf '| %s | %s |' "$2" "$3"
	sed 's/.*"verify":\[//; s/\].*//' "$1" | tr '}' '\n' | sed -n 's/.*"share":\([-0-9.e+]*\).*/\1/p' | awk '{ printf " %.0f %% |", 100 * $1 }'
	echo
}

model=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo 2>/dev/null | head -1)
echo "${model:-$(uname -m)}, $(nproc) threads, $("$verity" version)"
for table in $tables; do
	echo
	$table
done
[ ! -e "$failed" ]
