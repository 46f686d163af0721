#!/bin/sh
# The table of drafts from the encoder's output in docs/SPECULATIVE.md, as Markdown on standard output.
#
#   tools/encoder-drafts.sh bin/verity MODEL DATA [ROW…]
#
# DATA has the folders librispeech/LibriSpeech and speech, as ../shared/data. A ROW is one of english, vnni,
# avx2, noise, long, german, dutch, batch8, nospeech, translation; without any, all. The noise is added by tools/accuracy. LIMIT is
# the number of English utterances (0: all). Status 1 if anything was not identical. In translation nothing is drafted.
set -eu
verity=$1 model=$2 data=$3
shift 3
rows=${*:-english vnni avx2 noise long german dutch batch8 nospeech translation}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
speech=$data/speech english="--language en --dataset $data/librispeech/LibriSpeech --limit ${LIMIT:-0}"
bad=0

# row measures plain and assisted decoding in turn, and prints a row.
row() { # name flags
	name=$1
	shift
	verdict=identical
	"$verity" compare --quiet --json --model "$model" --precision int8 "$@" >"$work/json" || verdict="status $?"
	case $name-$verdict in
	*-identical) ;;
	"translation-status 3") verdict="nothing drafted" ;;
	*) bad=1 ;;
	esac
	tr -d ' \n' <"$work/json" | sed 's/"\(decode\|total\)":{"median"/\n"\1":{"median"/g; s/"acceptance"/\n&/' | awk -v name="$name" -v verdict="$verdict" '
		function after(key) { return match($0, "\"" key "\":\\[?") ? substr($0, RSTART + RLENGTH) + 0 : 0 }
		function high() { match($0, /"interval":\[[^,]*,/); return substr($0, RSTART + RLENGTH) + 0 }
		/^"decode":/ { decode = sprintf("%.2f (%.2f–%.2f)", after("mean"), after("interval"), high()) }
		/^"total":/ { total = sprintf("%.2f (%.2f–%.2f)", after("mean"), after("interval"), high()) }
		/^"acceptance":/ { kept = sprintf("%.2f", after("mean_kept")); rate = sprintf("%.2f", after("rate")) }
		END { print "| " name " | " decode " | " total " | " kept " | " rate " | " verdict " |" }'
}

echo "$(basename "$model") in int8, VERITY_DISABLE=${VERITY_DISABLE:-}, $("$verity" version | head -1)"
echo
echo "| audio | decoding | from audio to text | tokens per round | of drafted right | verdict |"
echo "|---|---|---|---|---|---|"
for r in $rows; do
	case $r in
	english) row "$r" $english ;;
	vnni) (export VERITY_DISABLE=avx512 && row "$r" $english && exit $bad) || bad=1 ;;
	avx2) (export VERITY_DISABLE=avx512,avxvnni && row "$r" $english && exit $bad) || bad=1 ;;
	noise)
		go run verity/tools/accuracy -build -words 500 -data "$data" "$work/sets" >&2
		grep '"set":"noise 10 dB"' "$work/sets/manifest.jsonl" | grep '"lang":"en"' >"$work/sets/noise.jsonl"
		row "$r" --language en --dataset "$work/sets/noise.jsonl"
		;;
	long) row "$r" --language en --repeats 2 "$speech"/longform/earnings*.flac "$speech"/longform/libri*.flac "$speech"/longform/two*.flac ;;
	german) row "$r" --language de --repeats 4 "$speech"/de/*.flac ;;
	dutch) row "$r" --language nl --repeats 2 "$speech"/nl/nl_*.flac ;;
	batch8) row "$r" $english --batch 8 ;;
	nospeech) row "$r" --language en --vad=off --repeats 3 "$speech"/nospeech/* ;;
	translation) row "$r" --language de --task translate --repeats 4 "$speech"/de/*.flac ;;
	*) echo "row $r: not known" >&2 && exit 2 ;;
	esac
done
exit $bad
