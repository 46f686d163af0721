#!/bin/sh
# A job on workers that are processes, one of which is killed in the middle: the job
# ends, every utterance is there once, the row without sound is counted and named, and
# the score is that of one machine.
#
#   cmd/verity-beam/cluster.sh VERITY VERITY-BEAM
#
# The job server is Beam's prism in a process of its own. ENDPOINT=host:port names
# another, whose workers come from the pool at localhost:$POOL, as in flink/flink.sh.
# BEAM are more flags for verity-beam, WORKERS the number of workers that there must be
# before one is killed.
set -eu
verity=$(realpath "$1") beam=$(realpath "$2")
root=$(cd "$(dirname "$0")/../.." && pwd)
POOL=${POOL:-50571}
work=$(mktemp -d)
children=
finish() {
	for pid in $children; do kill "$pid" 2>/dev/null || true; done
	# Workers are children of the pool.
	for pid in $(workers); do kill "$pid" 2>/dev/null || true; done
	rm -rf "$work"
}
# workers lists the worker processes of this program.
workers() {
	for p in /proc/[0-9]*; do
		[ "$(readlink "$p/exe" 2>/dev/null)" = "$beam" ] || continue
		tr '\0' ' ' <"$p/cmdline" | grep -q -- '--control_endpoint' && echo "${p#/proc/}"
	done
	true
}
trap finish EXIT INT TERM

mkdir "$work/data"
cp "$root/model/digits/digits.wav" "$work/data/"
i=0
while [ $i -lt 240 ]; do
	echo "{\"id\":\"u$i\",\"audio\":\"digits.wav\",\"offset\":$((i % 60)).$((i % 8))e-1,\"duration\":3,\"text\":\"one nine zero\"}"
	i=$((i + 1))
done >"$work/data/manifest.jsonl"
echo '{"id":"gone","audio":"gone.wav","text":"one"}' >>"$work/data/manifest.jsonl"

flags="-q -m $root/model/digits/target -d $work/data --normalizer basic --temperature-increment-on-fallback none"
# Status 1: the row without sound has failed, as it must.
"$verity" eval $flags -o "$work/one" >"$work/one.txt" 2>&1 && exit 1

if [ -z "${ENDPOINT:-}" ]; then
	ENDPOINT=localhost:50572
	"$beam" --job_server --port 50572 >"$work/server.log" 2>&1 &
	children="$children $!"
fi
"$beam" --worker_pool --port "$POOL" >"$work/pool.log" 2>&1 &
children="$children $!"

began=$(date +%s)
"$beam" $flags -o "$work/many" --chunk 4 --runner universal --endpoint "$ENDPOINT" \
	--environment_type EXTERNAL --environment_config "localhost:$POOL" ${BEAM:-} >"$work/many.txt" 2>"$work/many.err" &
job=$!
children="$children $job"

# Kill a worker when some chunks are done and others are not.
killed=
n=0
while [ -z "$killed" ] && kill -0 $job 2>/dev/null && [ $n -lt 1200 ]; do
	done=$(find "$work/many/chunks" -name '*.jsonl' 2>/dev/null | wc -l)
	there=$(workers)
	if [ "$done" -ge 5 ] && [ "$done" -lt 61 ] && [ "$(echo "$there" | wc -w)" -ge "${WORKERS:-1}" ]; then
		killed=$(echo "$there" | head -n 1)
		kill -KILL "$killed"
	fi
	n=$((n + 1))
	sleep 0.1
done
[ -n "$killed" ] || { echo "no worker was there to kill"; cat "$work/many.err" "$work/pool.log"; exit 1; }
echo "killed worker $killed, one of $(echo "$there" | wc -w), after $done of 61 chunks"
status=0
wait $job || status=$?
[ $status -eq 1 ] || { echo "verity-beam: status $status, want 1: one row has no sound"; cat "$work/many.err"; exit 1; }
grep -v '^$' "$work/many.err" | cut -c1-160 | tail -n 4
echo "the job took $(($(date +%s) - began)) s"

timeless() { sed -E 's/"seconds":\{[^}]*\},//; s/"wall_seconds":[^,]*,//; s/"threads":[0-9]+//; s/"code":"[^"]*",//' "$1"; }
timeless "$work/one/records.jsonl" >"$work/want"
timeless "$work/many/records.jsonl" >"$work/got"
cmp "$work/want" "$work/got"
echo "records: $(wc -l <"$work/got") lines, $(cut -d'"' -f8 "$work/got" | sort -u | wc -l) identifiers, equal to those of verity eval, times aside"
grep -q 'gone.wav' "$work/many.txt" && grep -q '1 utterance failed' "$work/many.err"
"$verity" report --json --normalizer basic "$work/one" >"$work/a.json" || true
"$verity" report --json --normalizer basic "$work/many" >"$work/b.json" || true
for field in wer wer_interval cer utterances failed; do
	a=$(grep -o "\"$field\":[^,]*" "$work/a.json" | head -n 1)
	b=$(grep -o "\"$field\":[^,]*" "$work/b.json" | head -n 1)
	[ "$a" = "$b" ] || { echo "one machine: $a; workers: $b"; exit 1; }
	echo "$a"
done
