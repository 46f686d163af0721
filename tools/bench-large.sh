#!/bin/sh
# The published table of assisted decoding, as Markdown on standard output.
#
#   tools/bench-large.sh bin/verity [SIZE]     SIZE is large-v2 if not given; tiny tries it out
#
# Nothing is downloaded: the checkpoints are planted (verity synth), 100 tokens in
# the one window of 30 s, and take the time of real ones. Two tables:
#
#   batch 1   verity compare: plain and assisted in turn, to the bit, medians
#   batches   N files of the same sound at the same time, f16 and int8 targets,
#             distilled assistant, alpha 0.8: all tokens over the longest decoding
#
# REPEATS (5) pairs in the first table. WORK is a directory for the checkpoints
# (13 GB at large-v2); without it they are removed in the end.
set -eu
verity=$1 size=${2:-large-v2} repeats=${REPEATS:-5}
work=${WORK:-$(mktemp -d)}
[ -n "${WORK:-}" ] || trap 'rm -rf "$work"' EXIT
mkdir -p "$work"
export VERITY_CACHE=off # every run begins without knowledge

# A header, and any 480,000 samples: planted text does not hear them.
sound=$work/sound.wav
{
	printf 'RIFF\044\246\016\000WAVEfmt \020\000\000\000\001\000\001\000\200\076\000\000\000\175\000\000\002\000\020\000data\000\246\016\000'
	yes verity | head -c 960000
} >"$sound"

plant() { # shape alpha
	[ -d "$work/$1-$2" ] || "$verity" synth --size "$size" --assistant-shape "$1" --alpha "$2" --tokens 100 --out "$work/$1-$2" >&2
}

# median prints the median of a speed-up in compare's JSON.
median() { # part
	tr -d ' \n' | sed -n "s/.*\"speedup\":{.*\"$1\":{\"median\":\([0-9.e+-]*\).*/\1/p" | awk '{ printf "%.2f", $1 }'
}

field() { # name
	tr -d ' \n' | sed -n "s/.*\"$1\":\"*\([^,}\"]*\).*/\1/p" | awk '{ printf "%.2f", $1 }'
}

echo "$size, planted text, $(nproc) threads, $("$verity" version)"
echo
echo "| target | assistant | α | decode speed-up | whole | predicted | accepted | verdict |"
echo "|---|---|---|---|---|---|---|---|"
for precision in f16 int8; do
	for pair in distil:0.8 distil:0.9 tiny:0.8; do
		shape=${pair%:*} alpha=${pair#*:}
		plant "$shape" "$alpha"
		if "$verity" compare --quiet --json --language en --precision $precision --repeats "$repeats" \
			--model "$work/$shape-$alpha/target" --assistant "$work/$shape-$alpha/assistant" --audio "$sound" >"$work/compare.json"; then
			verdict=identical
		else
			verdict="status $?"
		fi
		printf '| %s | %s | %s | %s | %s | %s | %s | %s |\n' $precision "$shape" "$alpha" \
			"$(median decode <"$work/compare.json")" "$(median total <"$work/compare.json")" \
			"$(field predicted_speedup <"$work/compare.json")" "$(field rate <"$work/compare.json")" "$verdict"
	done
done

# speed prints tokens per second of decoding: the files decode together, so all
# tokens over the longest of their times.
speed() { # precision assistant batch
	files= i=0
	while [ $i -lt "$3" ]; do
		files="$files $work/$i.wav" i=$((i + 1))
		cp "$sound" "$work/$((i - 1)).wav"
	done
	# shellcheck disable=SC2086
	"$verity" transcribe --quiet --json --language en --precision "$1" --batch "$3" \
		--model "$work/distil-0.8/target" --assistant "$2" $files |
		sed -n 's/.*"stats":{.*"tokens":\([0-9]*\),"drafts":.*"decode":\([0-9.e+-]*\),.*/\1 \2/p' |
		awk '{ tokens += $1; if ($2 > longest) longest = $2 } END { printf "%.1f", tokens / longest }'
}

echo
echo "| target | batch | plain, tokens/s | assisted, tokens/s | speed-up |"
echo "|---|---|---|---|---|"
for precision in f16 int8; do
	for batch in 1 2 4 8 16; do
		plain=$(speed $precision none $batch)
		assisted=$(speed $precision "$work/distil-0.8/assistant" $batch)
		printf '| %s | %s | %s | %s | %s |\n' $precision $batch "$plain" "$assisted" \
			"$(awk "BEGIN { printf \"%.2f\", $assisted / $plain }")"
	done
done
