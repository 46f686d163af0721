#!/bin/sh
# The published tables of assisted decoding, as Markdown on standard output.
#
#   tools/bench-large.sh bin/verity [SIZE [TABLE…]]
#
# SIZE is large-v2 by default; tiny is a quick trial. Tables, all if none is named:
#
#   single    verity compare: plain and assisted in turn, to the bit
#   batches   the same with --batch N: N utterances at a time in each variant, f16 and
#             int8 targets, distilled assistant, alpha 0.8
#   ladder    plain Go (tiny: two minutes), then verity compare: f32, f16, int8, mxfp6 and int4,
#             plain and with the distilled assistant, alpha 0.8
#   expected  tokens a round of drafts of 1 to 10 tokens at four alphas, beside theory's E
#   hostile   an assistant that is never right (planted, alpha 0), draft lengths auto. The
#             95 % interval of the speed-up must include or exceed 0.97
#
# Nothing is downloaded: the checkpoints are planted (verity synth), 100 tokens after
# a prompt of 3 in the one window of 30 s, and take the time of real ones. Speed-ups are geometric
# means over pairs of runs, with their 95 % intervals; tokens per second are all
# tokens over the time in which a group was decoding. In batches all utterances have
# the same text, so their drafts are refused at the same places.
# Draft lengths are learnt in the warm-up, before times are taken.
#
# REPEATS (5; 9 for hostile) pairs; BATCHES ("1 2 4 8 16"); PRECISIONS ("f16 int8").
# WORK is a directory for the checkpoints (13 GB at large-v2); without it they are
# removed at the end. Status 1 if anything was not identical.
set -eu
verity=$1 size=${2:-large-v2}
shift
[ $# -gt 0 ] && shift
tables=${*:-single batches ladder expected hostile}
batches=${BATCHES:-1 2 4 8 16} precisions=${PRECISIONS:-f16 int8}
work=${WORK:-$(mktemp -d)}
[ -n "${WORK:-}" ] || trap 'rm -rf "$work"' EXIT
mkdir -p "$work"
here=$(dirname "$0")
bad=0

# A header, and any 480,000 samples: planted text does not hear them.
sound=$work/sound.wav
{
	printf 'RIFF\044\246\016\000WAVEfmt \020\000\000\000\001\000\001\000\200\076\000\000\000\175\000\000\002\000\020\000data\000\246\016\000'
	yes verity | head -c 960000
} >"$sound"

plant() { # shape alpha
	[ -d "$work/$1-$2" ] || "$verity" synth --size "$size" --assistant "$1" --alpha "$2" --out "$work/$1-$2" >&2
}

# compare runs both variants. Its verdict is in $verdict, its JSON on one line in $json.
compare() { # flags
	verdict=identical
	"$verity" compare --quiet --json --language en "$@" >"$work/compare.json" || verdict="status $?" bad=1
	json=$(tr -d ' \n' <"$work/compare.json")
}

# number prints what follows a pattern in $json, with two digits behind the point.
number() { # pattern
	echo "$json" | sed -n "s/.*$1\([-0-9.e+]*\).*/\1/p" | awk '$1 != "" { printf "%.2f", $1 }'
}

# speedup prints the mean of a speed-up and its interval.
speedup() { # decode or total
	of="\"speedup\":{.*\"$1\":{[^}]*"
	low=$(number "$of\"interval\":\[")
	printf '%s' "$(number "$of\"mean\":")"
	[ -z "$low" ] || printf ' (%s to %s)' "$low" "$(number "$of\"interval\":\[[^,]*,")"
}

planted() { # shape alpha precision more
	plant "$1" "$2"
	pair=$work/$1-$2 precision=$3
	shift 3
	compare --precision "$precision" --model "$pair/target" --assistant "$pair/assistant" "$@"
}

single() {
	echo "| target | assistant | α | decode speed-up | whole | predicted | accepted | verdict |"
	echo "|---|---|---|---|---|---|---|---|"
	for precision in $precisions; do
		for pair in distil:0.8 distil:0.9 tiny:0.8; do
			shape=${pair%:*} alpha=${pair#*:}
			planted "$shape" "$alpha" "$precision" --repeats "${REPEATS:-5}" "$sound"
			echo "| $precision | $shape | $alpha | $(speedup decode) | $(speedup total) | $(number '"predicted_speedup":') | $(number '"rate":') | $verdict |"
		done
	done
}

batches() {
	echo "| target | batch | plain, tokens/s | assisted, tokens/s | decode speed-up | whole | tokens a round | verdict |"
	echo "|---|---|---|---|---|---|---|---|"
	for precision in $precisions; do
		for batch in $batches; do
			files=
			while [ "$(echo "$files" | wc -w)" -lt "$batch" ]; do files="$files $sound"; done
			# shellcheck disable=SC2086
			planted distil 0.8 "$precision" --repeats "${REPEATS:-5}" --batch "$batch" $files
			echo "| $precision | $batch | $(number '"tokens_per_second":{"baseline":') | $(number '"tokens_per_second":{[^}]*"assisted":') | $(speedup decode) | $(speedup total) | $(number '"mean_kept":') | $verdict |"
		done
	done
}

ladder() {
	plant distil 0.8
	pair=$work/distil-0.8
	echo '```'
	echo "plain Go, f32, without drafts, once:"
	VERITY_DISABLE=amx,avx512,avxvnni,avx2,i8mm,dotprod,neon "$verity" --quiet --model "$pair/target" --assistant none --language en \
		--precision f32 --vad=off --temperature-increment-on-fallback none --stats "$sound" 2>&1 >/dev/null | grep -E "tokens|seconds" || bad=1
	variants=
	for precision in f32 f16 int8 mxfp6 int4; do variants="$variants,$precision,$precision+assistant"; done
	"$verity" compare --quiet --model "$pair/target" --assistant "$pair/assistant" --language en "$sound" \
		--precision "${variants#,}" --repeats "${REPEATS:-5}" || bad=1
	echo '```'
}

# tokens a round, and behind a slash what theory expects: the paper's figure of E over α
expected() {
	echo "| α | drafts of 1 token | 3 | 5 | 7 | 10 |"
	echo "|---|---|---|---|---|---|"
	for alpha in 0.6 0.7 0.8 0.9; do
		line="| $alpha |"
		for n in 1 3 5 7 10; do
			planted distil "$alpha" int8 --draft-tokens "$n" --repeats 1 "$sound"
			line="$line $(number '"mean_kept":') / $(awk "BEGIN { printf \"%.2f\", (1 - $alpha^($n + 1)) / (1 - $alpha) }") |"
		done
		echo "$line"
	done
}

hostile() {
	echo "| pair | decode speed-up | whole | accepted of drafted | verdict |"
	echo "|---|---|---|---|---|"
	row() { # name
		echo "| $1 | $(speedup decode) | $(speedup total) | $(number '"accepted":') of $(number '"drafted":') | $verdict |"
	}
	for shape in distil tiny; do
		planted $shape 0 f16 --repeats "${REPEATS:-9}" "$sound"
		row "$size, $shape, α = 0"
	done
}

echo "$size, planted text, $(nproc) threads, $("$verity" version)"
for table in $tables; do
	echo
	$table
done
exit $bad
