#!/bin/sh
# The table of drafts from text in docs/SPECULATIVE.md, as Markdown on standard output.
#
#   tools/drafts.sh bin/verity MODEL DATASET [TEXT…]
#
# MODEL is a checkpoint whose weights are f16, DATASET what --dataset takes. A TEXT is
#
#   f16         the text of MODEL itself in f16
#   inside      the text of the model inside the program
#   references  the dataset's own texts
#   another     the text of MODEL for the previous utterance
#   word        one word, a million times
#   large       10 MB of words
#   control     control characters and special tokens
#   DIR         the text of another model, such as tiny.en
#
# or all of these but DIR. Each is the draft of MODEL in int8, which is compared with plain
# decoding in pairs, utterance by utterance. Texts are made before anything is timed. They
# and the results are stored in WORK (a temporary directory), so that an interrupted table
# continues where it stopped. LIMIT is the number of utterances, THREADS of threads (2);
# VERITY_DISABLE=avx512,avxvnni,amx leaves AVX2. TEXTS_ONLY=1 makes only the texts.
# Status 1 if anything was not identical.
set -eu
verity=$1 model=$2 data=$3
shift 3
texts=${*:-f16 inside references another word large control}
work=${WORK:-$(mktemp -d)}
[ -n "${WORK:-}" ] || trap 'rm -rf "$work"' EXIT
mkdir -p "$work"
bad=0

records() { # directory flags
	to=$work/$1
	shift
	VERITY_DISABLE= "$verity" eval --quiet --dataset "$data" --language en --out "$to" "$@" >/dev/null
}

# each makes a directory with one text for every utterance, of what is on standard input.
each() { # directory
	[ -d "$work/$1" ] && return
	mkdir -p "$work/$1"
	cat >"$work/$1/text"
	sed 's/.*"audio":"\([^"]*\)".*/\1/' "$work/f16/records.jsonl" | while read -r sound; do
		name=$(basename "$sound")
		ln -f "$work/$1/text" "$work/$1/${name%.*}.txt"
	done
	rm "$work/$1/text"
}

# text makes a text, and prints what --draft-from takes.
text() {
	case $1 in
	f16) [ -f "$work/f16/records.jsonl" ] || records f16 --model "$model" --precision f16 ;;
	inside) records inside ;;
	references) echo references && return ;;
	another)
		text f16 >/dev/null
		mkdir -p "$work/another"
		awk '{ id = $0; sub(/.*"id":"/, "", id); sub(/".*/, "", id)
			if (NR > 1) { sub(/"id":"[^"]*"/, "\"id\":\"" id "\"", last); print last }
			else first = id
			last = $0
		} END { sub(/"id":"[^"]*"/, "\"id\":\"" first "\"", last); print last }' \
			"$work/f16/records.jsonl" >"$work/another/records.jsonl"
		;;
	word) text f16 >/dev/null && yes 'the ' | tr -d '\n' | head -c 4000000 | each word ;;
	large) text f16 >/dev/null && yes 'Besides numberless vexations the clergy paid a tax of three shillings,' | head -c 10000000 | each large ;;
	control)
		text f16 >/dev/null
		yes '<|endoftext|><|startoftranscript|><|en|><|transcribe|><|0.00|>' | tr '\n' '\001' | head -c 100000 | each control
		;;
	*) records "$(basename "$1")" --model "$1" ;;
	esac
	echo "$work/$(basename "$1")"
}

number() { # pattern
	sed -n "s/.*$1\([-0-9.e+]*\).*/\1/p" | awk '{ printf "%.2f", $1 }'
}

speedup() { # decode or total
	of="\"speedup\":{.*\"$1\":{[^}]*"
	echo "$json" | number "$of\"mean\":"
	printf ' (%s to %s)' "$(echo "$json" | number "$of\"interval\":\[")" "$(echo "$json" | number "$of\"interval\":\[[^,]*,")"
}

echo "$(basename "$model") in int8, ${LIMIT:-all} utterances, ${THREADS:-2} threads, VERITY_DISABLE=${VERITY_DISABLE:-}, $("$verity" version)"
echo
echo "| text | decoding | sound to text | tokens a round | verdict |"
echo "|---|---|---|---|---|"
for t in $texts; do
	from=$(text "$t")
	[ -z "${TEXTS_ONLY:-}" ] || continue
	verdict=identical
	kept=$work/$(basename "$t")-${LIMIT:-0}-${THREADS:-2}-${VERITY_DISABLE:-}.json
	if [ ! -f "$kept" ]; then
		"$verity" compare --quiet --json --language en --threads "${THREADS:-2}" --model "$model" --precision int8 \
			--dataset "$data" --limit "${LIMIT:-0}" --draft-from "$from" >"$work/compare.json" || verdict="status $?" bad=1
		[ "$verdict" = identical ] && mv "$work/compare.json" "$kept" || kept=$work/compare.json
	fi
	json=$(tr -d ' \n' <"$kept")
	echo "| $(basename "$t") | $(speedup decode) | $(speedup total) | $(echo "$json" | number '"mean_kept":') | $verdict |"
done
exit $bad
