#!/bin/sh
# Trains the drafting head for the encoder of a model, from recordings to the files that Verity reads.
#
#   tools/drafter/train.sh MODEL SOUND OUT [STEPS [START]]
#
# SOUND has a folder for each language, such as en, with recordings of any length and rate. OUT gets the files: put it
# into the model's directory as drafter. OUT.work keeps the features of the recordings and the packages of Python: a
# second run with the same MODEL and SOUND goes on from there. STEPS is how many batches of eight windows it trains on,
# 2740 if it is missing. START is a head.safetensors to continue from. Needs Go, Python and ffmpeg.
set -eu
if [ -z "${1:-}" ] || [ ! -d "${2:-}" ] || [ -z "${3:-}" ]; then
	echo "want make drafter MODEL=DIR SOUND=DIR OUT=DIR; SOUND has a folder of recordings for each language" >&2
	exit 2
fi
model=$1 sound=$2 out=$3 steps=${4:-2740} start=${5:-}
first=$((steps * 73 / 100))
here=$(dirname "$0")
work=$out.work
from="$model $(ls -lR "$sound/" | cksum)"
if [ "$(cat "$work/from" 2>/dev/null)" != "$from" ]; then # what is there is of another model or of other recordings
	rm -rf "$work/windows" "$work/features"
fi
mkdir -p "$out" "$work/features" "$work/windows"
echo "$from" >"$work/from"

if [ ! -e "$work/installed" ]; then
	python3 -m venv "$work/venv"
	"$work/venv/bin/pip" install -q torch==2.15.0 safetensors wordfreq==3.1.1 numpy
	"$work/venv/bin/pip" download -q --no-deps -d "$work" symspellpy==6.10.1
	python3 -m zipfile -e "$work"/symspellpy-*.whl "$work/bigrams"
	touch "$work/installed"
fi
python() { "$work/venv/bin/python" "$@"; }

for folder in "$sound"/*/; do
	language=$(basename "$folder")
	python "$here/windows.py" "$folder" "$work/windows/$language"
	go run ./tools/drafter -model "$model" -language "$language" -out "$work/features" "$work/windows/$language"/*.wav
done
train() { python "$here/train.py" --features "$work/features" "$@"; }
if [ -n "$start" ]; then
	train --steps "$steps" --rate 5e-4 --start "$start" --share 0.7 --out "$work/head.pt"
else
	train --steps "$first" --out "$work/first.pt"
	train --steps "$((steps - first))" --rate 8e-4 --start "$work/first.pt" --out "$work/head.pt"
fi
python "$here/export.py" "$work/head.pt" "$work/features" "$out"
python "$here/words.py" "$out" "$work/bigrams/symspellpy"
